/**
 * The tools of all servers as governed tools, and the runtime that makes their calls.
 *
 * 1. A tool is bound to what its server listed. When that changes, new calls go to a new runtime.
 * 2. An old runtime is closed when its calls have ended. Held calls stay answerable: they are in the ledger.
 * 3. A tool without an answer of a person, or that changed since, asks before it runs. Clients see the approved texts
 *    of a changed tool, so new texts do not reach a model before a person.
 */
import { setImmediate as afterOtherWork } from 'node:timers/promises';
import { isQuittanceError } from '../../base/error.ts';
import type { QuietHours } from '../../base/quiet-hours.ts';
import { contractsFromMultiple } from '../../contracts/from-multiple.ts';
import type { LoadedContracts } from '../../contracts/loaded-contracts.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';
import { createRuntimeOn } from '../../runtime/create-runtime.ts';
import type { ProtectedFiles } from '../../runtime/files/own-files.ts';
import type { Telemetry } from '../../runtime/host/telemetry.ts';
import { readArtifactName } from '../../runtime/read-artifact.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { ServerEntry, ToolSetting } from '../config/server-entry.ts';
import { reviewRules } from '../review/review-rules.ts';
import { instructionsName } from '../review/instructions.ts';
import type { ToolReview, ToolReviews } from '../review/tool-reviews.ts';
import type { ListedClass, ListedTool } from '../tools/listed-tool.ts';
import { classifyListed, readListedTool, toolDigest } from '../tools/listed-tool.ts';
import type { CallUpstream } from '../tools/tool-from-listed.ts';
import { toolFromListed } from '../tools/tool-from-listed.ts';
import { otherCheckName } from './check-name.ts';
import type { ServerNames } from './server-names.ts';

export type CatalogTool = {
  /** The name that clients see. */
  readonly name: string;
  readonly server: string;
  /** What the server listed. */
  readonly listed: ListedTool;
  /** What clients see: the approved texts, until a person has seen the changed ones. */
  readonly shown: ListedTool;
  readonly review: ToolReview;
  readonly setting: ToolSetting;
  readonly tool: AnyTool;
};

export type CatalogOptions = {
  readonly ledger: Ledger;
  readonly contracts: LoadedContracts | undefined;
  readonly protectedFiles: ProtectedFiles | undefined;
  readonly quietHours: readonly QuietHours[];
  readonly telemetry: Telemetry | undefined;
  readonly names: ServerNames;
  /** The answers of people. Without them, only tools that nothing is known about ask. */
  readonly reviews: ToolReviews | undefined;
  /** Tools that would ask run, and the record says why they would have asked. */
  readonly observe: boolean;
  readonly callTool: (entry: ServerEntry, listed: ListedTool) => CallUpstream;
  /** Longer text becomes an artifact. Undefined: the default. */
  readonly textLimit: number | undefined;
  readonly log: (server: string, line: string) => void;
  /** A runtime was closed because another one takes its place. Calls that it held need the other one. */
  readonly onReplaced: () => void;
};

/** Names of tools of the gateway that it does not give up for a server. */
const ownNames: ReadonlySet<string> = new Set([readArtifactName, otherCheckName]);
/** More tools of one server are ignored. */
const mostTools = 1_000;
/** JSON values in the list of one server, where a thousand characters count as one value. */
const mostValues = 100_000;
/** How long the event loop works on one list without a break. */
const sliceMs = 20;
/** Tools of servers may run long. Their progress keeps them alive. */
const toolTimeoutMs = 3_600_000;

export class ToolCatalog {
  readonly #options: CatalogOptions;
  readonly #contracts: LoadedContracts;
  readonly #tools = new Map<string, CatalogTool>();
  readonly #digests = new Map<string, string>();
  #current: { readonly runtime: Runtime; users: number } | undefined;
  readonly #retired = new Set<{ readonly runtime: Runtime; users: number }>();

  constructor(options: CatalogOptions) {
    const { contracts, observe } = options;
    this.#options = options;
    const rules = reviewRules({ reviewOf: (name) => this.#tools.get(name)?.review, observe });
    this.#contracts = contractsFromMultiple(contracts === undefined ? [rules] : [rules, contracts]);
  }

  get(name: string): CatalogTool | undefined {
    return this.#tools.get(name);
  }

  list(): readonly CatalogTool[] {
    return [...this.#tools.values()];
  }

  /**
   * Takes over what a server listed. Returns the tools that clients may see, in the server's order. Other work is done
   * between the tools. `mayChange`: asked before a new or changed tool is taken over. If it may not be yet, the known one
   * stays.
   */
  async learn(
    entry: ServerEntry,
    listed: readonly unknown[],
    mayChange: () => boolean = () => true,
  ): Promise<readonly CatalogTool[]> {
    const seen = new Map<string, CatalogTool>();
    let [since, values] = [performance.now(), 0];
    for (const each of listed.slice(0, mostTools)) {
      values += countValues(each, mostValues - values);
      if (values >= mostValues) {
        this.#options.log(entry.name, 'Its list of tools is too long. The rest of it is left out.');
        break;
      }
      const tool = this.#learnOne(entry, each, seen, mayChange);
      if (tool !== undefined) seen.set(tool.name, tool);
      if (performance.now() - since < sliceMs) continue;
      await afterOtherWork();
      since = performance.now();
    }
    return [...seen.values()];
  }

  /** The answers about this server have changed: its tools are judged again. */
  reconsider(entry: ServerEntry): void {
    for (const { name, server, listed } of this.#tools.values())
      if (server === entry.name) this.#tools.set(name, this.#make(entry, listed, name));
    this.#renew();
  }

  /** `seen`: the tools of the list so far. The first of a name counts, because clients accept a name once. */
  #learnOne(
    entry: ServerEntry,
    given: unknown,
    seen: ReadonlyMap<string, CatalogTool>,
    mayChange: () => boolean,
  ): CatalogTool | undefined {
    const { names, log } = this.#options;
    try {
      const listed = readListedTool(given);
      if (!isOffered(entry, listed.name)) return undefined;
      const name = names.toClient(entry.name, listed.name);
      if (name === undefined) throw new Error(`The name "${listed.name}" is too long for clients.`);
      if (listed.name === instructionsName) throw new Error('No tool may have this name.');
      if (ownNames.has(name)) throw new Error(`The name "${name}" is taken by a tool of the gateway.`);
      if (seen.has(name)) throw new Error(`The name "${name}" is listed twice.`);
      const known = this.#tools.get(name);
      const digest = toolDigest(listed);
      if (known !== undefined && this.#digests.get(name) === digest) return known;
      if (!mayChange()) return known;
      const made = this.#make(entry, listed, name);
      this.#tools.set(name, made);
      this.#digests.set(name, digest);
      this.#renew();
      return made;
    } catch (error) {
      log(
        entry.name,
        `A listed tool cannot be used. ${error instanceof Error ? error.message : String(error)}`,
      );
      if (!isQuittanceError(error) && !(error instanceof Error)) throw error;
      return undefined;
    }
  }

  #make(entry: ServerEntry, listed: ListedTool, name: string): CatalogTool {
    const setting: ToolSetting = Object.hasOwn(entry.tools, listed.name)
      ? (entry.tools[listed.name] ?? {})
      : {};
    const { textLimit } = this.#options;
    const found = classifyListed(listed, { isTrusted: entry.isTrusted });
    const review = this.#options.reviews?.read(entry, listed) ?? unreviewed(setting, listed, found);
    // The name of an unknown tool only suggests a mode: a declared read would be repeated after a crash.
    const isGuess = review.status === 'unknown' && found.origin !== 'annotated';
    const mode = isGuess ? undefined : review.status === 'unknown' ? review.proposed : review.mode;
    const tool = toolFromListed(listed, {
      name,
      server: entry.name,
      mode,
      idempotent: found.idempotent,
      idempotencyKey: setting.idempotencyKey,
      callTool: this.#options.callTool(entry, listed),
      traits: { timeoutMs: toolTimeoutMs },
      ...(textLimit !== undefined && { textLimit }),
    });
    const shown = review.status === 'changed' ? review.approved : listed;
    return { name, server: entry.name, listed, shown, review, setting, tool };
  }

  /** The runtime for a new call. Call `release` when the call has ended. */
  use(): { readonly runtime: Runtime; readonly release: () => void } {
    const used = (this.#current ??= { runtime: this.#createRuntime(), users: 0 });
    used.users += 1;
    return {
      runtime: used.runtime,
      release: () => {
        used.users -= 1;
        if (used.users === 0 && this.#retired.delete(used)) this.#replace(used.runtime);
      },
    };
  }

  async close(): Promise<void> {
    const all = [...this.#retired, ...(this.#current === undefined ? [] : [this.#current])];
    await Promise.all(all.map(({ runtime }) => runtime.close()));
    this.#contracts.close();
  }

  #renew(): void {
    const old = this.#current;
    this.#current = undefined;
    if (old === undefined) return;
    if (old.users > 0) this.#retired.add(old);
    else this.#replace(old.runtime);
  }

  #replace(runtime: Runtime): void {
    void runtime.close().finally(this.#options.onReplaced);
  }

  #createRuntime(): Runtime {
    const { ledger, observe, protectedFiles, quietHours, telemetry } = this.#options;
    return createRuntimeOn({
      tools: [...this.#tools.values()].map(({ tool }) => tool),
      ledger,
      // Servers are processes of this user. They reach the ledger whatever their tools are called.
      ownFiles: 'reachable',
      ...(protectedFiles !== undefined && { protectedFiles }),
      contracts: this.#contracts,
      quietHours,
      ...(telemetry !== undefined && { telemetry }),
      ...(observe && { treatments: { destructive: 'run', local: 'run' } as const }),
    });
  }
}

/** Stops at `most`. */
function countValues(listed: unknown, most: number): number {
  const open: unknown[] = [listed];
  let found = 0;
  for (let at = open.pop(); found < most && (at !== undefined || open.length > 0); at = open.pop()) {
    found += typeof at === 'string' ? 1 + at.length / 1_000 : 1;
    if (typeof at !== 'object' || at === null) continue;
    const entries = Object.entries(at);
    found += entries.reduce((sum, [key]) => sum + key.length / 1_000, 0);
    for (const [, value] of entries) open.push(value);
  }
  return found;
}

/** Without reviews, only a tool that nothing is known about asks. */
function unreviewed(setting: ToolSetting, listed: ListedTool, { mode, origin }: ListedClass): ToolReview {
  const digest = toolDigest(listed);
  return setting.mode === undefined && origin === 'default'
    ? { status: 'unknown', proposed: mode, digest }
    : { status: 'approved', mode: setting.mode ?? mode, asks: false, digest };
}

/** May clients see the tool, by the lists in the configuration? */
const isOffered = ({ onlyTools, hiddenTools }: ServerEntry, name: string): boolean =>
  onlyTools?.includes(name) !== false && hiddenTools?.includes(name) !== true;
