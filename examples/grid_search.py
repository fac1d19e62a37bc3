"""GridSearchCV of scikit-learn on a cluster: only the backend of joblib is another one.
Run it with `python grid_search.py [SAMPLES]`; it needs `pip install scikit-learn`."""

import sys

import joblib
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from rain.client import Client, register_joblib


def main(samples):
    features, classes = make_classification(n_samples=samples, n_features=20, random_state=0)
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [2, 4, 8], "min_samples_leaf": [1, 5]},
        cv=3,
    )
    register_joblib()
    with Client() as client, joblib.parallel_config(backend="rain", client=client):
        search.fit(features, classes)
    print(f"the best of {len(search.cv_results_['params'])}: {search.best_params_}")
    print(f"its score: {search.best_score_:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
