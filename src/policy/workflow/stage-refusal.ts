/** Decides which calls belong to a stage: by the tool's name, and by the command if the tool runs one. */
import { cutText } from '../../base/cut-text.ts';
import { quote } from '../../base/nearest.ts';
import type { Stage, Workflow } from '../language/workflow.ts';
import { isBoundary } from '../language/workflow.ts';
import type { EvidenceSources, WorkflowCall } from './evidence-sources.ts';
import { commandsOfCall } from './evidence-sources.ts';

/** Why a call is stopped: the reason that the state stores, and the message for the caller. */
export type StageRefusal = { readonly reason: string; readonly message: string };

/** The stored reason for every tool that a stage does not accept, word for word. */
export const toolNotAllowed = 'Tool is not allowed in this workflow stage';

/** Why the stage does not accept the call; undefined if it does. */
export function reasonAgainst(
  stage: Stage,
  call: WorkflowCall,
  sources: EvidenceSources,
): StageRefusal | undefined {
  if (!takesTool(stage, call.toolName))
    return {
      reason: toolNotAllowed,
      message: `Tool ${quote(call.toolName)} is not allowed in this workflow stage, ${quote(stage.id)}: ${whatItTakes(stage)}.`,
    };
  // Checks apply to commands: a tool that runs none passes them.
  const commands = stage.checks.length === 0 ? undefined : commandsOfCall(call, sources);
  if (commands === undefined) return undefined;
  if (commands.type === 'unclear')
    return inWords(
      `Stage ${quote(stage.id)} checks commands, but this call of ${quote(call.toolName)} has no ` +
        `command text in ${quote(commands.argument)}.`,
    );
  const failed = stage.checks.find(
    ({ type, regex }) => !commands.texts.every((text) => regex.test(text) === (type === 'command_matches')),
  );
  return failed && inWords(failed.message);
}

/** A refusal whose stored reason is also the message. */
export const inWords = (message: string): StageRefusal => ({ reason: message, message });

/** Does the next stage accept the call, looking through boundaries? After the last stage every call is accepted. */
export function isTakenNext(
  workflow: Workflow,
  index: number,
  call: WorkflowCall,
  sources: EvidenceSources,
): boolean {
  const after = workflow.stages.slice(index + 1);
  const next = after.find((stage) => !isBoundary(stage));
  return next === undefined ? after.length > 0 : reasonAgainst(next, call, sources) === undefined;
}

/** Does any later stage accept the call? */
export const isTakenLater = (
  workflow: Workflow,
  index: number,
  call: WorkflowCall,
  sources: EvidenceSources,
): boolean =>
  isTakenNext(workflow, index, call, sources) ||
  workflow.stages
    .slice(index + 1)
    .some((stage) => !isBoundary(stage) && reasonAgainst(stage, call, sources) === undefined);

function takesTool(stage: Stage, toolName: string): boolean {
  if (stage.tools.length === 0) return !stage.terminal && !isBoundary(stage);
  return stage.tools.some(({ matches }) => matches(toolName));
}

function whatItTakes(stage: Stage): string {
  if (stage.tools.length > 0)
    return `it accepts ${cutText(stage.tools.map(({ pattern }) => pattern).join(', '), 200)}`;
  return 'it accepts no calls itself';
}
