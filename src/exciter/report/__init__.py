"""Reports: one HTML file each, made of sections, readable offline."""

from exciter.report.design_report import write_design_report

__all__ = ["write_design_report"]
