/**
 * The tools of all servers as governed tools, and the runtime that makes their calls.
 *
 * 1. A tool is bound to what its server listed. When that changes, new calls go to a new runtime.
 * 2. An old runtime is closed when its calls have ended. Held calls stay answerable: they are in the ledger.
 * 3. A tool without an answer of a person, or that changed since, asks before it runs. Clients see the approved texts
 *    of a changed tool, so new texts do not reach a model before a person.
 */
import { setImmediate as afterOtherWork } from 'node:timers/promises';
import { isQuittanceError } from 'quittance/internal/base/error';
import type { QuietHours } from 'quittance/internal/base/quiet-hours';
import { contractsFromMultiple } from 'quittance/internal/contracts/from-multiple';
import type { LoadedContracts } from 'quittance/internal/contracts/loaded-contracts';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';
import { createRuntimeOn } from 'quittance/internal/runtime/create-runtime';
import type { ProtectedFiles } from 'quittance/internal/runtime/own-files';
import type { Telemetry } from 'quittance/internal/runtime/telemetry';
import { readArtifactName } from 'quittance/internal/runtime/read-artifact';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import type { ServerEntry, ToolSetting } from '@quittance/server/internal/mcp-reviews/server-entry';
import { isTextName } from '@quittance/server/internal/mcp-reviews/server-texts';
import type { ToolReview, ToolReviews } from '@quittance/server/internal/mcp-reviews/tool-reviews';
import type { ListedClass, ListedTool } from '@quittance/server/internal/mcp-reviews/listed-tool';
import {
  classifyListed,
  readListedTool,
  toolDigest,
  withoutUnreviewed,
} from '@quittance/server/internal/mcp-reviews/listed-tool';
import type { CallUpstream } from '../tools/tool-from-listed.ts';
import { toolFromListed } from '../tools/tool-from-listed.ts';
import { otherCheckName } from './check-name.ts';
import type { ServerNames } from './server-names.ts';
import type { BeforeAnswer } from 'quittance/internal/policy/language/code-rule';
import type { PolicyCall } from 'quittance/internal/policy/language/policy-call';
import { contracts } from 'quittance/internal/contracts/contracts';

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

type CatalogOptions = {
  readonly ledger: OpenLedger;
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
  /** An answer of a person changed what clients may see or call. */
  readonly onReconsidered: () => void;
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
    let hasChanged = false;
    for (const known of this.#tools.values()) {
      if (known.server !== entry.name) continue;
      const made = this.#make(entry, known.listed, known.name);
      hasChanged ||=
        JSON.stringify([made.review, made.shown]) !== JSON.stringify([known.review, known.shown]);
      this.#tools.set(known.name, made);
    }
    // Two gateways whose servers list different tools would otherwise wake each other without end.
    if (!hasChanged) return;
    this.#renew();
    this.#options.onReconsidered();
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
      if (isTextName(listed.name)) throw new Error('No tool may have this name.');
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
    const { reviews } = this.#options;
    const review = reviews?.read(entry, listed) ?? unreviewed(setting, listed, found);
    // A name only suggests a mode: a declared read would be repeated after a crash, and viewers may call it.
    const isStated = review.status !== 'unknown' && (reviews !== undefined || setting.mode !== undefined);
    const isGuess = found.origin !== 'annotated' && !isStated;
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
    const said = review.status === 'changed' ? review.approved : listed;
    const shown = entry.isTrusted ? said : withoutUnreviewed(said);
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

type ReviewRulesOptions = {
  /** The state of a tool by its name in the runtime. Undefined for tools that need no review, such as our own. */
  readonly reviewOf: (toolName: string) => ToolReview | undefined;
  /** Calls of tools without an answer run, and are recorded as what would have been asked. */
  readonly observe: boolean;
};

/** How long a held call waits. Reviews are often made hours later. */
const timeoutSeconds = 24 * 3_600;

/**
 * The rules by which calls of tools without a valid review ask. Compose them with other contracts by
 * `contractsFromMultiple`. A changed tool asks in observe mode too: a person approved something else.
 */
export function reviewRules({ reviewOf, observe }: ReviewRulesOptions): LoadedContracts {
  const askByMode = ({ toolName }: PolicyCall): BeforeAnswer => {
    const review = reviewOf(toolName);
    if (review?.status !== 'approved' || (review.mode !== 'destructive' && review.mode !== 'local'))
      return undefined;
    return ask(`Tools of the mode ${review.mode} ask before they run.`);
  };
  const ask = (message: string): BeforeAnswer => ({ action: 'ask', message, timeoutSeconds });
  return contracts({
    name: 'reviews of MCP tools',
    rules: [
      // The runtime asks by mode itself, unless it observes.
      ...(observe ? [{ id: 'mcp-mode-asks', mode: 'observe' as const, before: askByMode }] : []),
      {
        id: 'mcp-tool-blocked',
        before: ({ toolName }) =>
          reviewOf(toolName)?.status === 'blocked'
            ? { action: 'block', message: 'A person blocked this tool.' }
            : undefined,
      },
      {
        id: 'mcp-tool-asks',
        mode: observe ? 'observe' : 'enforce',
        before: ({ toolName }) => {
          const review = reviewOf(toolName);
          return review?.status === 'approved' && review.asks
            ? ask('A person decides about every call of this tool.')
            : undefined;
        },
      },
      {
        id: 'mcp-tool-not-reviewed',
        mode: observe ? 'observe' : 'enforce',
        before: ({ toolName }) =>
          reviewOf(toolName)?.status === 'unknown'
            ? ask('This tool was not reviewed yet, so a person decides about this call.')
            : undefined,
      },
      {
        id: 'mcp-tool-changed',
        before: ({ toolName }) => {
          const review = reviewOf(toolName);
          if (review?.status !== 'changed') return undefined;
          return ask(
            review.changed === 'tool'
              ? 'The description or schema of this tool changed since it was approved, so a person decides about this call.'
              : 'The server of this tool has another address, folder or environment than the one that was approved, so a person decides about this call.',
          );
        },
      },
    ],
  });
}
