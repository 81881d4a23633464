/** Which calls belong to a stage: by the tool's name, and by the command where the tool runs one. */
import { cutText } from '../tool/cut-text.ts';
import { quote } from '../tool/nearest.ts';
import { isCommandRight } from './command-pattern.ts';
import type { Stage, Workflow } from './workflow.ts';
import { isBoundary } from './workflow.ts';
import type { EvidenceSources, WorkflowCall } from './workflow-evidence.ts';
import { commandsOf } from './workflow-evidence.ts';

/** Why the stage does not take the call; undefined where it does. */
export function reasonAgainst(
  stage: Stage,
  call: WorkflowCall,
  sources: EvidenceSources,
): string | undefined {
  if (!takesTool(stage, call.toolName))
    return `Tool ${quote(call.toolName)} is not allowed in this workflow stage, ${quote(stage.id)}: ${whatItTakes(stage)}.`;
  // Checks are about commands: a tool that runs none has nothing to be checked.
  const commands = stage.checks.length === 0 ? undefined : commandsOf(call, sources);
  if (commands === undefined) return undefined;
  if (commands.type === 'unclear')
    return `Stage ${quote(stage.id)} checks commands, and this call of ${quote(call.toolName)} has none as text in ${quote(commands.argument)}.`;
  return stage.checks.find(
    ({ type, regex }) => !commands.texts.every((text) => isCommandRight(type, regex, text)),
  )?.message;
}

/** Whether the stage that follows takes the call, looking through boundaries; after the last one everything is taken. */
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

/** Whether any stage that follows takes the call. */
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
    return `it takes ${cutText(stage.tools.map(({ pattern }) => pattern).join(', '), 200)}`;
  return 'it takes no calls itself';
}
