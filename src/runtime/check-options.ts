import { QuittanceError } from '../base/error.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { isToolMode, toolModeTreatments } from '../tool/mode.ts';
import { whyRunsCommands } from '../tool/runs-commands.ts';
import { sandboxMarkOf } from '../tool/sandboxed-tool.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { checkBudgets } from './host/budget.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { RuntimeOptions } from './runtime-options.ts';
import type { Journal } from '../ledger/journal.ts';

const wholeNumbers = {
  defaultTimeoutMs: 1,
  holdTimeoutMs: 1,
  inlineLimit: 1,
  cancelGraceMs: 0,
  concurrency: 1,
} as const;

const known: Readonly<Record<keyof RuntimeOptions<readonly AnyTool[]>, true>> = {
  tools: true,
  ledger: true,
  onPreToolUse: true,
  contracts: true,
  onConfirm: true,
  behaviors: true,
  onTrouble: true,
  mayDecide: true,
  mayGrant: true,
  separateDuties: true,
  protectedFiles: true,
  ownFiles: true,
  holdTimeoutMs: true,
  quietHours: true,
  repair: true,
  coerce: true,
  successCheck: true,
  treatments: true,
  budgets: true,
  redaction: true,
  defaultTimeoutMs: true,
  inlineLimit: true,
  cancelGraceMs: true,
  concurrency: true,
  telemetry: true,
  clock: true,
  ids: true,
};

/** Reports configuration mistakes here, not at the first call that meets them. */
export function checkRuntimeOptions(options: RuntimeOptions<readonly AnyTool[]>): void {
  if (typeof options !== 'object' || options === null)
    refuse('createRuntime takes an object, e.g. createRuntime({ tools: [myTool] }).');
  checkKeys('createRuntime', options, Object.keys(known));
  const ledger: { readonly journal?: Partial<Journal> } | undefined = options.ledger;
  if (typeof ledger?.journal?.append !== 'function')
    refuse('ledger must be an open ledger or the URL of one, e.g. "sqlite:./calls.db".');
  if (!Array.isArray(options.tools))
    refuse('createRuntime needs tools: an array of what defineTool or govern give.');
  for (const [index, tool] of options.tools.entries())
    if (typeof tool?.run !== 'function' || typeof tool.input?.check !== 'function')
      refuse(
        `tools[${index}] is not a tool. Make it with defineTool({...}), or put existing ones in with ...govern({...}).`,
      );
  for (const [name, least] of Object.entries(wholeNumbers)) {
    const value = options[name as keyof typeof wholeNumbers];
    const isNone = name === 'holdTimeoutMs' && value === 'none';
    if (value !== undefined && !isNone && !(Number.isSafeInteger(value) && Number(value) >= least))
      refuse(
        `${name} must be a whole number of at least ${least}${name === 'holdTimeoutMs' ? ", or 'none'" : ''}, found ${String(value)}.`,
      );
  }
  if (options.contracts !== undefined && typeof options.contracts.policy?.judgeCall !== 'function')
    refuse(
      "contracts must be what `contractsFromYaml` and the other functions of 'quittance/contracts' give.",
    );
  for (const name of ['onConfirm', 'mayDecide', 'mayGrant', 'successCheck'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'function')
      refuse(`${name} must be a function.`);
  if (options.telemetry !== undefined && typeof options.telemetry?.startCall !== 'function')
    refuse("telemetry must be what `openTelemetry` of 'quittance/opentelemetry' gives.");
  if (options.coerce !== undefined && typeof options.coerce !== 'boolean')
    refuse('coerce must be true or false.');
  if (options.behaviors !== undefined && !Array.isArray(options.behaviors))
    refuse('behaviors must be an array of behaviors, e.g. [retry()].');
  for (const [index, behavior] of (options.behaviors ?? []).entries())
    if (typeof behavior?.spec !== 'object' || typeof behavior.handler !== 'function')
      refuse(`behaviors[${index}] is not a behavior: { spec, handler }, or the result of retry().`);
  const hooks = options.onPreToolUse ?? [];
  if (![hooks].flat().every((hook) => typeof hook === 'function'))
    refuse('onPreToolUse must be a function or an array of functions.');
  checkRepair(options.repair);
  for (const [mode, treatment] of Object.entries(options.treatments ?? {}))
    if (!isToolMode(mode) || !['run', 'ask', 'ask_unless_undo'].includes(treatment))
      refuse(
        `treatments: ${mode}: ${JSON.stringify(treatment)} means nothing. Expected a mode (${Object.keys(toolModeTreatments).join(', ')}) with "run", "ask" or "ask_unless_undo".`,
      );
  checkBudgets(options.budgets);
}

function checkRepair(repair: RuntimeOptions<readonly AnyTool[]>['repair']): void {
  if (repair === undefined || typeof repair === 'function') return;
  if (typeof repair.repair !== 'function' || !Number.isSafeInteger(repair.attempts) || repair.attempts < 0)
    refuse('repair must be a function, or {repair: function, attempts: whole number}.');
}

function refuse(message: string): never {
  throw new QuittanceError('config.invalid', message);
}

/**
 * A tool that runs commands can reach the ledger's files with them, whatever is read in the text of a call. The host
 * must prevent that, accept it, or name the tools that cannot.
 */
export function refuseReachableLedger({
  tools,
  ledger,
  ownFiles,
}: {
  readonly tools: readonly AnyTool[];
  readonly ledger: Pick<Ledger, 'ownFiles'>;
  readonly ownFiles?: RuntimeOptions<readonly AnyTool[]>['ownFiles'] | undefined;
}): void {
  const outOfReach = readOutOfReach(ownFiles, tools);
  const file = ledger.ownFiles?.find(({ kind, withCompanions }) => kind === 'ledger' && withCompanions);
  if (ownFiles === 'reachable' || file === undefined) return;
  for (const tool of tools) {
    if (outOfReach.has(tool.name) || sandboxMarkOf(tool)?.protects([file], tool.name) === true) continue;
    const why = whyRunsCommands(tool);
    if (why === undefined) continue;
    throw new QuittanceError(
      'config.invalid',
      `createRuntime: the tool "${tool.name}" counts as one that runs commands on this machine: ${why}. Commands can ` +
        `reach the ledger, ${file.path}, and reading their text does not prevent that. Make the tool with createSandbox ` +
        'of quittance/sandbox, or keep the ledger in PostgreSQL. If the tool runs no commands, or runs them as another ' +
        `user or on another machine, set ownFiles: { outOfReach: [${JSON.stringify(tool.name)}] }. To accept the risk, ` +
        "set ownFiles: 'reachable'.",
    );
  }
}

function readOutOfReach(
  ownFiles: RuntimeOptions<readonly AnyTool[]>['ownFiles'] | undefined,
  tools: readonly AnyTool[],
): ReadonlySet<string> {
  if (ownFiles === undefined || ownFiles === 'reachable') return new Set();
  const { outOfReach, ...others } = Object(ownFiles) as { readonly outOfReach?: unknown }; // may come from JavaScript
  if (!Array.isArray(outOfReach) || Object.keys(others).length > 0)
    refuse('createRuntime: ownFiles takes "reachable" or { outOfReach: [names of tools] }, or leave it out.');
  const names = new Set(tools.map(({ name }) => name));
  const unknown = outOfReach.find((name: unknown) => typeof name !== 'string' || !names.has(name)) as unknown;
  if (unknown !== undefined)
    refuse(
      `createRuntime: ownFiles.outOfReach names ${JSON.stringify(unknown)}, which is not a tool of this runtime.`,
    );
  return new Set(outOfReach as readonly string[]);
}
