"""Problems that croupier is shown with."""
