import type { FiredRule } from '../policy/language/ruling.ts';
import { cutText } from '../base/cut-text.ts';
import type {
  BacktestChange,
  BacktestReport,
  BacktestRule,
  BacktestSample,
  CallVerdict,
  CallWord,
  NotJudged,
  OutputWord,
} from './backtest-report.ts';

type Kind<Row> = { -readonly [Name in keyof Row]: Row[Name] };

/** Collects verdicts, or the reports of other tallies, in the memory of one report. */
export class BacktestTally {
  readonly #policyVersion: string;
  readonly #mostSamples: number;
  #sessions = 0;
  #calls = 0;
  #judged = 0;
  #different = 0;
  #byKeptForm = 0;
  #unanswered = 0;
  readonly #notJudged: { [Why in NotJudged]: number } = { never_reached_rules: 0, erased: 0 };
  readonly #changes = new Map<string, Kind<BacktestChange>>();
  readonly #rules = new Map<string, Kind<BacktestRule>>();

  constructor(policyVersion: string, mostSamples: number) {
    this.#policyVersion = policyVersion;
    this.#mostSamples = mostSamples;
  }

  get calls(): number {
    return this.#calls;
  }

  addSession(): void {
    this.#sessions++;
  }

  skip(why: NotJudged): void {
    this.#calls++;
    this.#notJudged[why]++;
  }

  add(verdict: CallVerdict): void {
    const { before, after, fired, byKeptForm, unanswered } = verdict;
    this.#calls++;
    this.#judged++;
    if (byKeptForm) this.#byKeptForm++;
    if (unanswered) this.#unanswered++;
    const callDiffers = before.call !== after.call;
    const outputDiffers =
      before.output !== undefined && after.output !== undefined && before.output !== after.output;
    if (callDiffers || outputDiffers) this.#different++;
    if (callDiffers) this.#change('call', before.call, after.call, verdict);
    if (outputDiffers) this.#change('output', before.output, after.output, verdict);
    for (const rule of fired.call) this.#fire(rule, verdict, callDiffers);
    for (const rule of onceEach(fired.output)) this.#fire(rule, verdict, outputDiffers);
  }

  #fire(rule: FiredRule, verdict: CallVerdict, differs: boolean): void {
    const row = this.#rule(rule.ruleId, rule.action, rule.observed);
    row.count++;
    if (differs && !rule.observed) row.different++;
    row.samples = this.#keep(row.samples, verdict, () => toSample(verdict, rule));
  }

  /** Adds the report of another tally, e.g. from another thread. */
  merge(report: BacktestReport): void {
    this.#sessions += report.sessions;
    this.#calls += report.calls;
    this.#judged += report.judged;
    this.#different += report.different;
    this.#byKeptForm += report.byKeptForm;
    this.#unanswered += report.unanswered;
    this.#notJudged.never_reached_rules += report.notJudged.never_reached_rules;
    this.#notJudged.erased += report.notJudged.erased;
    for (const { about, before, after, count, samples } of report.changes) {
      const row = this.#changeRow(about, before, after);
      row.count += count;
      for (const sample of samples) row.samples = this.#keep(row.samples, sample, () => sample);
    }
    for (const { ruleId, action, observed, count, different, samples } of report.rules) {
      const row = this.#rule(ruleId, action, observed);
      row.count += count;
      row.different += different;
      for (const sample of samples) row.samples = this.#keep(row.samples, sample, () => sample);
    }
  }

  toReport(complete: boolean): BacktestReport {
    return {
      policyVersion: this.#policyVersion,
      sessions: this.#sessions,
      calls: this.#calls,
      judged: this.#judged,
      different: this.#different,
      notJudged: { ...this.#notJudged },
      byKeptForm: this.#byKeptForm,
      unanswered: this.#unanswered,
      changes: [...this.#changes.values()].toSorted(
        (one, other) => other.count - one.count || compareText(kindOf(one), kindOf(other)),
      ),
      rules: [...this.#rules.values()].toSorted(
        (one, other) =>
          other.different - one.different || other.count - one.count || compareText(one.ruleId, other.ruleId),
      ),
      complete,
    };
  }

  #change(
    about: 'call' | 'output',
    before: CallWord | OutputWord,
    after: CallWord | OutputWord,
    verdict: CallVerdict,
  ): void {
    const row = this.#changeRow(about, before, after);
    row.count++;
    row.samples = this.#keep(row.samples, verdict, () => toSample(verdict, deciderOf(about, after, verdict)));
  }

  #changeRow(
    about: 'call' | 'output',
    before: CallWord | OutputWord,
    after: CallWord | OutputWord,
  ): Kind<BacktestChange> {
    const key = kindOf({ about, before, after });
    let row = this.#changes.get(key);
    if (row === undefined) {
      row = { about, before, after, count: 0, samples: [] };
      this.#changes.set(key, row);
    }
    return row;
  }

  #rule(ruleId: string, action: FiredRule['action'], observed: boolean): Kind<BacktestRule> {
    const key = JSON.stringify([ruleId, action, observed]);
    let row = this.#rules.get(key);
    if (row === undefined) {
      row = { ruleId, action, observed, count: 0, different: 0, samples: [] };
      this.#rules.set(key, row);
    }
    return row;
  }

  /** Keeps the newest samples, so that the result does not depend on how threads share the work. */
  #keep(
    samples: readonly BacktestSample[],
    call: Dated,
    make: () => BacktestSample,
  ): readonly BacktestSample[] {
    const last = samples.at(-1);
    const isFull = samples.length >= this.#mostSamples;
    if (isFull && (last === undefined || newestFirst(last, call) <= 0)) return samples;
    return [...samples, make()].sort(newestFirst).slice(0, this.#mostSamples);
  }
}

/** A rule evaluated on an error and on its extras counts as fired once. */
const onceEach = (fired: readonly FiredRule[]): readonly FiredRule[] =>
  fired.length < 2
    ? fired
    : fired.filter(
        ({ ruleId, observed }, index) =>
          fired.findIndex((other) => other.ruleId === ruleId && other.observed === observed) === index,
      );

const kindOf = ({ about, before, after }: Pick<BacktestChange, 'about' | 'before' | 'after'>): string =>
  `${about} ${before} ${after}`;

const compareText = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

type Dated = Pick<CallVerdict, 'at' | 'sessionId' | 'callId'>;

const newestFirst = (one: Dated, other: Dated): number =>
  other.at - one.at || compareText(one.sessionId, other.sessionId) || compareText(one.callId, other.callId);

/** The rule that decides now; undefined if none does. */
const deciderOf = (
  about: 'call' | 'output',
  after: CallWord | OutputWord,
  { fired }: CallVerdict,
): FiredRule | undefined => fired[about].find(({ action, observed }) => !observed && action === after);

const longestInput = 400;

const toSample = (
  { sessionId, callId, toolName, at, input, byKeptForm, refusal }: CallVerdict,
  rule: FiredRule | undefined,
): BacktestSample => ({
  sessionId,
  callId,
  toolName,
  at,
  byKeptForm,
  input: cutText(JSON.stringify(input), longestInput),
  ruleId: rule?.ruleId,
  message: rule?.message ?? refusal,
});
