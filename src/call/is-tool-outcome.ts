import { isJsonObject } from '../base/json.ts';
import { outcomeToModelContent } from './model-content.ts';
import type { ToolOutcome } from './outcome.ts';
import { isOutcomeType } from './outcome.ts';

/** Tells an outcome from the output of a tool, also after both were stored as JSON. */
export function isToolOutcome(value: unknown): value is ToolOutcome {
  if (!isJsonObject(value) || !Object.hasOwn(value, 'type') || !isOutcomeType(value['type'])) return false;
  if (typeof value['toolName'] !== 'string' || typeof value['callId'] !== 'string') return false;
  try {
    // What was told under this type can be told again.
    return typeof outcomeToModelContent(value as ToolOutcome) === 'string';
  } catch {
    return false;
  }
}
