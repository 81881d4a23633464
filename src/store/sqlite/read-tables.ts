/**
 * The read tables of one ledger: filled before they are asked, so that whoever was told of something finds it, and
 * in quiet moments, so that little is left to fill.
 */
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from '../../ledger/call-query.ts';
import type { OpenCall } from '../../ledger/ledger.ts';
import { backoffMs, whenFree } from './backoff.ts';
import { CallTable } from './call-table.ts';
import type { Database } from './database.ts';
import { isBusy, prepareValue } from './database.ts';
import type { EntryTable } from './entry-table.ts';
import type { Heads } from './heads.ts';
import { Projection } from './projection.ts';
import { openReadTables } from './read-schema.ts';

type Opened = { readonly tables: Database; readonly projection: Projection; readonly calls: CallTable };

/** How long nothing must be appended before the time counts as quiet. */
const quietMs = 50;

export class ReadTables {
  readonly #ledger: Database;
  readonly #entries: EntryTable;
  readonly #heads: Heads;
  readonly #path: string;
  #opened: Promise<Opened> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #appendedAtMs = 0;
  #closed = false;

  constructor(ledger: Database, entries: EntryTable, heads: Heads, path: string) {
    this.#ledger = ledger;
    this.#entries = entries;
    this.#heads = heads;
    this.#path = path;
  }

  async queryCalls(query: CallQuery): Promise<Page<CallSummary>> {
    const { calls } = await this.#filled();
    return calls.queryCalls(query);
  }

  async querySessions(query: SessionQuery): Promise<Page<SessionSummary>> {
    const { calls } = await this.#filled();
    return calls.querySessions(query);
  }

  async findOpenCalls(): Promise<readonly OpenCall[]> {
    const { calls } = await this.#filled();
    return calls.findOpen();
  }

  /** Empties the tables and fills them from the entries. */
  async rebuild(): Promise<void> {
    const { projection } = await this.#open();
    await whenFree(() => projection.reset());
    await this.#filled();
  }

  /** Something was appended: fills the tables once that has been all for a while. */
  noteAppend(): void {
    this.#appendedAtMs = performance.now();
    if (this.#timer === undefined && !this.#closed) this.#comeBack();
  }

  #comeBack(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isQuiet) void this.#fillQuietly();
      else this.#comeBack();
    }, quietMs);
    this.#timer.unref();
  }

  get #isQuiet(): boolean {
    return performance.now() - this.#appendedAtMs >= quietMs;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const opened = await this.#opened?.catch(() => undefined);
    opened?.tables.close();
  }

  #open(): Promise<Opened> {
    this.#opened ??= whenFree(() => {
      const ledgerId = prepareValue<string>(this.#ledger, 'SELECT ledger_id FROM ledger').get() as string;
      const tables = openReadTables(this.#path, ledgerId);
      const projection = new Projection(this.#ledger, this.#entries, this.#heads, tables);
      return { tables, projection, calls: new CallTable(tables) };
    });
    return this.#opened;
  }

  async #filled(): Promise<Opened> {
    const opened = await this.#open();
    const { projection } = opened;
    const target = projection.end;
    for (let tries = 0; ;)
      try {
        if (projection.step(target)) return opened;
        tries = 0;
        await new Promise(setImmediate);
      } catch (error) {
        if (!isBusy(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, backoffMs(tries++)));
      }
  }

  /** Stops as soon as somebody appends again. A failure here is nobody's: whoever asks meets it and is told. */
  async #fillQuietly(): Promise<void> {
    try {
      const { projection } = await this.#open();
      while (!this.#closed && this.#isQuiet && !projection.step(projection.end))
        await new Promise(setImmediate);
    } catch {
      return;
    }
  }
}
