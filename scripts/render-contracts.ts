/** Renders the JSON Schema of contract documents. */
import { createDocumentSchema } from '../packages/quittance/src/policy/read/document-schema.ts';
import { toSchemaText } from './schema-text.ts';

/** Every generated file by its path from the root of the repository. */
export function renderContracts(): ReadonlyMap<string, string> {
  const path = 'packages/quittance/schema/contracts.schema.json';
  return new Map([[path, toSchemaText(createDocumentSchema())]]);
}
