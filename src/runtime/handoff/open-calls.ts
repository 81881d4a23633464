import type { Ledger } from '../../ledger/ledger.ts';
import type { OpenCall } from '../../ledger/queries.ts';

const pageSize = 1_000;

/**
 * Every call without an outcome, oldest first, read page by page. Other work gets a turn between two pages.
 */
export async function* readOpenCalls(ledger: Pick<Ledger, 'queries'>): AsyncGenerator<OpenCall, void> {
  let after: string | undefined;
  for (;;) {
    const page = await ledger.queries.findOpenCalls({
      limit: pageSize,
      ...(after !== undefined && { after }),
    });
    yield* page;
    after = page.at(-1)?.cursor;
    if (page.length < pageSize || after === undefined) return;
    await new Promise(setImmediate);
  }
}
