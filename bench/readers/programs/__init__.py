"""The other readers, each as a separate program that prints its version and the samples per label and elapsed time."""
