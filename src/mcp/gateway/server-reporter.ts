/** Reports the state of one server for people, without secrets. */
import { toReviewedServer } from '../review/review-content.ts';
import type { ServerReport } from '../status/gateway-report.ts';
import { shownAddress, shownError } from '../status/shown-address.ts';
import type { Upstream } from './upstream.ts';

/** `prefix`: comes before the names of its tools. */
export function createServerReporter(upstream: Upstream, prefix: string): () => ServerReport {
  const { entry } = upstream;
  const { name, address, isTrusted } = toReviewedServer(entry);
  const place = shownAddress(entry);
  return () => {
    const { server: _, lastError, ...state } = upstream.status();
    return {
      name,
      address,
      transport: entry.type,
      place,
      isTrusted,
      prefix,
      ...state,
      lastError: lastError && shownError(entry, lastError),
    };
  };
}
