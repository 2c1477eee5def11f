"""What finished audits teach: which cheap score can stand in for execution, and what thresholds decide.

The room reads JSON reports. It runs nothing, and knows neither models nor sandboxes.
"""
