"""What an editor shows of reports, as plain data: hints, lenses, hovers, tables and pages."""
