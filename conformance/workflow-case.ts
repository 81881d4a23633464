/** Cases about the order of calls: one runtime each, its state written to the ledger, the steps made for real. */
import type { JsonObject, ToolOutcome } from 'quittance';
import { createMemoryLedger } from 'quittance/ledger';
import { contractsFromYamlString, eventsToActionWords } from 'quittance/contracts';
import { stringify } from 'yaml';
import { checkAuditEvents } from './audit-events.ts';
import type { Case, Data, Problems } from './case.ts';
import { dataAt, isData, listAt, own, show, textAt } from './case.ts';
import { runsUnasked } from './runs-unasked.ts';
import type { MakeCaller } from './make-caller.ts';
import { callRuntime } from './make-caller.ts';
import { checkStep } from './workflow-expectation.ts';
import { readState, seedState } from './workflow-seed.ts';
import type { StepAnswer } from './workflow-expectation.ts';

/** Runs a case, with calls directly on a runtime or through an adapter. */
export async function runWorkflowCase(
  { data, file }: Case,
  makeCaller: MakeCaller = callRuntime,
): Promise<Problems> {
  const workflow = workflowOf(data, file);
  const steps = listAt(data, 'steps').filter(isData);
  if (steps.length === 0) throw new Error('the case has no steps');
  const stage = await openStage(workflow, data, steps, makeCaller);
  const problems: string[] = [];
  for (const [index, step] of steps.entries()) {
    const where = `step ${textAt(step, 'id') ?? index + 1}`;
    const found = await stage.take(step, `${index + 1}`);
    problems.push(...found.map((problem) => `${where}: ${problem}`));
    // The steps after a failed one prove nothing.
    if (problems.length > 0) break;
  }
  return problems;
}

function workflowOf(data: Data, file: Data): Data {
  const given = own(data, 'workflow');
  const workflow = typeof given === 'string' ? own(dataAt(file, 'workflows'), given) : given;
  if (!isData(workflow)) throw new Error(`the file contains no workflow named ${show(given)}`);
  return workflow;
}

type Stage = { readonly take: (step: Data, callId: string) => Promise<Problems> };

/** The script of one step: the decisions of people and the output of the tool. */
type Script = {
  readonly approvals: string[];
  readonly asked: { readonly message: string; readonly stageId: string | undefined }[];
  paused: () => void;
  output: unknown;
};

async function openStage(
  workflow: Data,
  data: Data,
  steps: readonly Data[],
  makeCaller: MakeCaller,
): Promise<Stage> {
  const initial = dataAt(data, 'initial_state');
  const sessionId = textAt(initial, 'session_id') ?? 'conformance';
  const parentSessionId = textAt(dataAt(data, 'lineage'), 'parent_session_id');
  const name = textAt(dataAt(workflow, 'metadata'), 'name') ?? '';
  const ledger = createMemoryLedger();
  if (isData(own(data, 'initial_state'))) await seedState(ledger, sessionId, workflow, initial as JsonObject);
  let script: Script = { approvals: [], asked: [], paused: () => undefined, output: null };
  const names = new Set(steps.flatMap((step) => textAt(dataAt(step, 'call'), 'tool') ?? []));
  const { runtime, makeCall } = await makeCaller({
    tools: [...names].map((tool) => ({ name: tool, run: () => script.output })),
    ledger,
    turn: parentSessionId === undefined ? {} : { parentSessionId },
    contracts: contractsFromYamlString(stringify(workflow, { aliasDuplicateObjects: false })),
    treatments: runsUnasked,
    onConfirm: ({ description, asks }) => {
      script.asked.push({ message: description, stageId: asks.find(({ stage }) => stage)?.stage?.stageId });
      const answer = script.approvals.shift();
      if (answer === 'approved') return { decision: 'approve', by: 'reviewer' };
      if (answer !== undefined) return { decision: 'deny', by: 'reviewer' };
      script.paused();
      return new Promise(() => undefined);
    },
  });
  const control = runtime.workflow({ sessionId, workflow: name });

  const call = async (step: Data, callId: string): Promise<StepAnswer> => {
    const asked = dataAt(step, 'call');
    const paused = Promise.withResolvers<undefined>();
    const approvals = listAt(step, 'approval_outcomes').map(readApproval);
    script = { approvals, asked: [], paused: () => paused.resolve(undefined), output: outputOf(step) };
    const made = makeCall({
      sessionId,
      id: callId,
      name: textAt(asked, 'tool') ?? '',
      arguments: { ...dataAt(asked, 'args') } as JsonObject, // as YAML gives it
    });
    const outcome: ToolOutcome | undefined = await Promise.race([made, paused.promise]);
    return { outcome, asked: script.asked, unused: script.approvals };
  };

  const told = async (): Promise<ReturnType<typeof eventsToActionWords>> =>
    eventsToActionWords(await runtime.events.list({ sessionId }));

  return {
    async take(step, callId) {
      const expected = dataAt(step, 'expect');
      const before = (await told()).length;
      const resetTo = textAt(step, 'reset_to');
      const setTo = textAt(step, 'set_stage_to');
      let answer: StepAnswer | undefined;
      if (resetTo !== undefined) await control.reset({ stageId: resetTo, by: 'operator' });
      if (setTo !== undefined) await control.setStage({ stageId: setTo, by: 'operator' });
      if (isData(own(step, 'call'))) answer = await call(step, callId);
      else if (resetTo === undefined && setTo === undefined)
        return ['has none of call, reset_to and set_stage_to'];
      const records = (await told()).slice(before);
      return [
        ...checkStep(expected, answer, readState(await control.state())),
        ...(Object.hasOwn(expected, 'audit_events')
          ? checkAuditEvents(listAt(expected, 'audit_events'), records, hasRun(step))
          : []),
      ];
    },
  };
}

const hasRun = (step: Data): boolean => own(step, 'execution') !== 'not_run';

function readApproval(outcome: unknown): string {
  if (outcome === 'approved' || outcome === 'rejected') return outcome;
  throw new Error(`approval_outcomes contains ${show(outcome)}; supported: approved and rejected`);
}

/** An allowed call that must not run has no output: it fails like one that ran and failed. */
function outputOf(step: Data): unknown {
  const execution = own(step, 'execution');
  if (execution === 'success') return own(step, 'mcp_result') ?? 'fixture-success';
  if (execution === undefined || execution === 'error' || execution === 'not_run')
    return 'error: fixture-failure';
  throw new Error(`execution is ${show(execution)}; supported: success, error and not_run`);
}
