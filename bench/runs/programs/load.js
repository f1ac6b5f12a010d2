// The load of `scripts/bench tools` by k6: requests without pause to TARGET.
import http from "k6/http";

export default function () {
  http.get(__ENV.TARGET);
}
