"""A backend for joblib: what scikit-learn and others run in parallel by joblib runs on a cluster.

Only `backend` and `bundle` need joblib or numpy. `rain/common/joblib_backend.py` makes the backend
known to joblib.
"""
