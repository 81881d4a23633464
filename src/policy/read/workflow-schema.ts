/** The part of the document schema that covers workflows. Conditions are plain text here; the loader parses them. */
import type { JsonObject } from '../../base/json.ts';
import { approvalFields } from './approval-fields.ts';
import { apiVersion, longestMessage, namePattern } from '../language/rule-shape.ts';

const name: JsonObject = { type: 'string', pattern: namePattern.source };
const message: JsonObject = { type: 'string', minLength: 1, maxLength: longestMessage };
const text: JsonObject = { type: 'string', minLength: 1 };

const closed = (required: readonly string[], properties: JsonObject): JsonObject => ({
  type: 'object',
  required,
  properties,
  additionalProperties: false,
});

export const workflowSchema: JsonObject = closed(['apiVersion', 'kind', 'metadata', 'stages'], {
  apiVersion: { const: apiVersion },
  kind: { const: 'Workflow' },
  metadata: closed(['name'], { name, description: { type: 'string' }, version: text }),
  stages: { type: 'array', minItems: 1, items: { $ref: '#/$defs/stage' } },
});

export const workflowDefinitions: JsonObject = {
  gate: closed(['condition'], { condition: text, message }),
  check: {
    ...closed(['message'], { command_matches: text, command_not_matches: text, message }),
    oneOf: [{ required: ['command_matches'] }, { required: ['command_not_matches'] }],
  },
  stage: closed(['id'], {
    id: name,
    description: { type: 'string' },
    entry: { type: 'array', items: { $ref: '#/$defs/gate' } },
    exit: { type: 'array', items: { $ref: '#/$defs/gate' } },
    tools: { type: 'array', items: text },
    checks: { type: 'array', items: { $ref: '#/$defs/check' } },
    approval: closed(['message'], { message, ...approvalFields }),
    terminal: { type: 'boolean' },
  }),
};
