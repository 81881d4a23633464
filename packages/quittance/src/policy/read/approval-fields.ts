/** The part of the document schema that says who must approve. Extends the public language. */
import type { JsonObject } from '../../base/json.ts';
import {
  approverKeys,
  delegationWords,
  exclusions,
  longestTimeout,
  mostApprovers,
  mostSeats,
} from '../language/rule-shape.ts';

const texts: JsonObject = { type: 'array', minItems: 1, items: { type: 'string', minLength: 1 } };
const seconds: JsonObject = { type: 'integer', minimum: 1, maximum: longestTimeout };
const count: JsonObject = { type: 'integer', minimum: 1, maximum: mostApprovers };
const approvers: JsonObject = Object.fromEntries(approverKeys.map((key) => [key, texts]));

const escalation: JsonObject = {
  type: 'object',
  required: ['after'],
  properties: { after: seconds, ...approvers },
  additionalProperties: false,
  anyOf: approverKeys.map((key) => ({ required: [key] })),
};
const seatFields: JsonObject = {
  ...approvers,
  quorum: { ...count, description: 'How many distinct people.' },
  escalate: { type: 'array', minItems: 1, items: escalation },
};

export const approvalFields: JsonObject = {
  ...seatFields,
  all_of: {
    type: 'array',
    minItems: 1,
    maxItems: mostSeats,
    items: { type: 'object', properties: seatFields, additionalProperties: false },
    description: 'Several groups of approvers, each with its own quorum.',
  },
  same_person: { type: 'boolean', description: 'One person may fill a place of several entries of all_of.' },
  exclude: { type: 'array', minItems: 1, items: { enum: exclusions } },
  denials: { ...count, description: 'How many people must deny to end the question. Default 1.' },
  delegation: { enum: delegationWords },
  reminders: { type: 'array', minItems: 1, items: seconds },
};

export const approvalDefinitions: JsonObject = {
  approval: { type: 'object', properties: approvalFields, additionalProperties: false },
};
