/**
 * The read tables of one ledger. They are filled before each query, so that a settled call is always visible.
 * They are also filled in idle time, so that a query has little to fill.
 */
import { existsSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { CallCount, CallCountQuery, RuleDenials } from '../../ledger/call-count.ts';
import type { CallQuery, CallSummary, Page, SessionQuery, SessionSummary } from '../../ledger/call-query.ts';
import type { CallTally, TallyName, TallyQuery } from '../../ledger/call-tally.ts';
import type { ConfirmationQuery, ConfirmationSummary } from '../../ledger/confirmation-query.ts';
import type { OpenCall, OpenCallQuery, Queries } from '../../ledger/queries.ts';
import { isQuittanceError, QuittanceError } from '../../base/error.ts';
import { closedError } from '../../ledger/refuse-entry.ts';
import { LockWait, whenFree } from './backoff.ts';
import { countCallRows, countDeniedRows } from './count-call-rows.ts';
import { CallTable, parseOpenCursor } from './call-table.ts';
import type { Database } from './database.ts';
import { isBusy, isDamaged, isForeign, prepareValue } from './database.ts';
import type { EntryTable } from './entry-table.ts';
import type { Heads } from './heads.ts';
import { Projection } from './projection.ts';
import { Projector } from './projector.ts';
import { openReadTables, removeReadTables } from './read-schema.ts';
import type { SqliteTuning } from './sqlite-ledger-options.ts';
import { TallyTable } from './tally-table.ts';

type TableTuning = Pick<SqliteTuning, 'threadLag' | 'tablePatienceMs'>;

type Opened = {
  /** Fills the tables. A separate connection, so that queries see only complete steps. */
  readonly writer: Database;
  readonly reader: Database;
  readonly projection: Projection;
  readonly projector: Projector | undefined;
  readonly calls: CallTable;
  readonly tallies: TallyTable;
};

/** Time without appends after which the ledger counts as idle. */
const quietMs = 50;
/** Largest share of busy time of the event loop, since the tables were last filled, that counts as idle. */
const quietLoop = 0.5;
/**
 * In busy times the tables may be behind by what the thread fills in this time, because a query can wait for that. So
 * a short burst leaves the machine to the process, and a long one does not make a later query wait for all of it.
 */
const affordableWaitMs = 600;
/** Entries per millisecond that the thread is expected to fill, until that is measured. */
const firstRate = 50;
/** A thread that runs already fills tables that are further behind than this. */
const fewForThread = 256;
/** After work in busy times the thread rests as long as it worked. */
const longestRestMs = 1_000;
/**
 * Without the thread, tables this far behind are filled in busy times too, because the next query waits for the rest.
 */
const longestLag = 50_000;

export class ReadTables implements Queries {
  readonly #ledger: Database;
  readonly #entries: EntryTable;
  readonly #heads: Heads;
  readonly #path: string;
  readonly #tuning: TableTuning;
  #opened: Promise<Opened> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #appendedAtMs = 0;
  #loop = performance.eventLoopUtilization();
  #step: Promise<void> | undefined;
  #isFilling = false;
  #rate = firstRate;
  #closed = false;

  constructor(ledger: Database, entries: EntryTable, heads: Heads, path: string, tuning: TableTuning) {
    this.#tuning = tuning;
    this.#ledger = ledger;
    this.#entries = entries;
    this.#heads = heads;
    this.#path = path;
  }

  async findCalls(query: CallQuery): Promise<Page<CallSummary>> {
    const { calls } = await this.#filled();
    return calls.queryCalls(query);
  }

  async tallyCalls<Name extends TallyName>(query: TallyQuery<Name>): Promise<readonly CallTally<Name>[]> {
    const { tallies } = await this.#filled();
    return tallies.query(query);
  }

  async countCalls(query: CallCountQuery): Promise<readonly CallCount[]> {
    const { reader } = await this.#filled();
    return countCallRows(reader, query);
  }

  async countDenials(span: Pick<CallQuery, 'since' | 'until'>): Promise<readonly RuleDenials[]> {
    const { reader } = await this.#filled();
    return countDeniedRows(reader, span);
  }

  async findSessions(query: SessionQuery): Promise<Page<SessionSummary>> {
    const { calls } = await this.#filled();
    return calls.querySessions(query);
  }

  async findConfirmations(query: ConfirmationQuery): Promise<Page<ConfirmationSummary>> {
    const { calls } = await this.#filled();
    return calls.queryConfirmations(query);
  }

  async findConfirmation(confirmationId: string): Promise<ConfirmationSummary | undefined> {
    const { calls } = await this.#filled();
    return calls.findConfirmation(confirmationId);
  }

  /**
   * The first page fixes how far the tables must reach, and later pages need no more. Otherwise each page of a long
   * list would wait for everything appended since the page before.
   */
  async findOpenCalls({ after, limit = -1 }: OpenCallQuery = {}): Promise<readonly OpenCall[]> {
    const place = after === undefined ? undefined : parseOpenCursor(after);
    const { calls, target } = await this.#filled(place?.target);
    return calls.findOpen(place, limit, target);
  }

  /** Empties the tables and fills them from the entries. Returns the problems that kept it from filling them. */
  async rebuild(): Promise<readonly string[]> {
    try {
      const { projection } = await this.#open();
      await this.#step;
      await whenFree(() => projection.reset());
    } catch (error) {
      if (!isDamaged(error) && !isForeign(error)) throw error;
      await this.#closeTables();
      removeReadTables(this.#path);
    }
    try {
      await this.#filled();
      return [];
    } catch (error) {
      // Impossible entries: `verify` reports them.
      if (!isQuittanceError(error, 'ledger.damaged') && !(error instanceof TypeError)) throw error;
      return [`The read tables are only partly filled: ${error.message}`];
    }
  }

  /** Called after an append: fills the tables once no more appends follow for a while. */
  noteAppend(): void {
    this.#appendedAtMs = performance.now();
    if (this.#timer === undefined && !this.#closed) this.#comeBack();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#timer !== undefined) await this.#fillRest();
    this.#closed = true;
    await this.#closeTables();
  }

  /**
   * Tables that know the last entries tell an older ledger file that is put in the place of this one. So the last few are filled
   * before the file is closed, if there are tables.
   */
  async #fillRest(): Promise<void> {
    if (this.#closed || (this.#opened === undefined && !existsSync(this.#path))) return;
    try {
      const { projection } = await this.#open();
      if (projection.lag <= fewForThread) await this.#takeStep(projection);
    } catch {
      return; // the next query reports it
    }
  }

  async #closeTables(): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.projector?.close();
    await this.#step?.catch(() => undefined);
    this.#opened = undefined;
    opened?.reader.close();
    opened?.writer.close();
  }

  #comeBack(afterMs = quietMs): void {
    this.#loop = performance.eventLoopUtilization();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#fillAside();
    }, afterMs);
    this.#timer.unref();
  }

  #open(): Promise<Opened> {
    if (this.#opened !== undefined) return this.#opened;
    const opening = whenFree(() => {
      const ledgerId = prepareValue<string>(this.#ledger, 'SELECT ledger_id FROM ledger').get() as string;
      const { writer, reader } = openReadTables(this.#path, ledgerId);
      const projector =
        writer === reader
          ? undefined // in memory: no other thread can see them
          : new Projector({
              ledgerPath: this.#ledger.name,
              tablesPath: this.#path,
              ledgerId,
              patienceMs: this.#tuning.tablePatienceMs,
            });
      const projection = new Projection(this.#ledger, this.#entries, this.#heads, writer);
      return {
        writer,
        reader,
        projection,
        projector,
        calls: new CallTable(reader),
        tallies: new TallyTable(reader),
      };
    });
    this.#opened = opening;
    // One disk failure must not break all queries: the next one opens the tables again.
    opening.catch(() => {
      if (this.#opened === opening) this.#opened = undefined;
    });
    return opening;
  }

  /**
   * Read-your-writes: fills the tables up to now, or up to a position. Throws if another process keeps the lock and
   * does not go on: a query must end even if that process is stopped for hours.
   */
  async #filled(until?: number): Promise<Opened & { readonly target: number }> {
    const opened = await this.#open();
    const { projection, projector } = opened;
    const { end } = projection;
    const target = Math.min(until ?? end, end); // a ledger that was restored to an earlier state ends earlier
    if (projection.reaches(target)) return { ...opened, target };
    if (projection.lag > this.#leastForThread(projector)) await projector?.fill(target);
    const wait = new LockWait(this.#tuning.tablePatienceMs);
    while (!projection.reaches(target))
      try {
        if (this.#closed) throw closedError();
        await this.#takeStep(projection);
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (!(await wait.again(projection.position))) throw heldError(this.#path, error);
      }
    return { ...opened, target };
  }

  #leastForThread(projector: Projector | undefined): number {
    const { threadLag } = this.#tuning;
    return projector?.isStarted === true ? Math.min(fewForThread, threadLag) : threadLag;
  }

  /** One at a time: later callers wait for the current step. */
  #takeStep(projection: Projection): Promise<void> {
    this.#step ??= projection
      .step(() => this.#closed)
      .finally(() => {
        this.#step = undefined;
      });
    return this.#step;
  }

  /** Errors are ignored here: the next query meets the same problem and reports it. */
  async #fillAside(): Promise<void> {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      const { projection, projector } = await this.#open();
      const beganMs = performance.now();
      const { lag } = projection;
      const affordable = Math.min(this.#rate * affordableWaitMs, longestLag);
      const isQuiet = this.#isQuiet;
      const mustFill = lag > this.#leastForThread(projector) && (isQuiet || lag > affordable);
      // In busy times a query that comes now can still wait for the rest.
      const left = isQuiet ? 0 : Math.floor(affordable / 2);
      const isDone = mustFill && (await projector?.fill(projection.end - left)) === true;
      const tookMs = performance.now() - beganMs;
      if (isDone) this.#rate = (lag - left) / Math.max(1, tookMs);
      const restMs = Math.min(tookMs, longestRestMs);
      while (
        !isDone &&
        !this.#closed &&
        projection.lag > 0 &&
        (this.#isQuiet || projection.lag > longestLag)
      ) {
        await this.#takeStep(projection);
        await new Promise(setImmediate);
      }
      if (this.#closed || projection.lag === 0) return;
      if (this.#timer === undefined) this.#comeBack(this.#isQuiet ? quietMs : Math.max(quietMs, restMs));
    } catch {
      return;
    } finally {
      this.#isFilling = false;
    }
  }

  /**
   * Has nothing been appended for a while, and was there time to append? A process that reads for long, or gets
   * little CPU time, appends nothing either.
   */
  get #isQuiet(): boolean {
    return (
      performance.now() - this.#appendedAtMs >= quietMs &&
      performance.eventLoopUtilization(this.#loop).utilization < quietLoop
    );
  }
}

const heldError = (path: string, error: unknown): QuittanceError =>
  new QuittanceError(
    'ledger.unavailable',
    `Another process locked ${path} and does not continue: it is probably stopped or paused. ` +
      'Let it continue or end it, then retry. Calls are stored meanwhile; only lists and searches wait.',
    { path },
    error,
  );
