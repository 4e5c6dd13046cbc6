"""Reports: one HTML file each, made of sections, readable offline."""
