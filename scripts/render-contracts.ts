/** Renders the JSON Schema of contract documents. */
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { createDocumentSchema } from '../src/policy/read/document-schema.ts';

const root = join(import.meta.dirname, '..');

/** Every generated file by its path from the root of the repository. */
export async function renderContracts(): Promise<ReadonlyMap<string, string>> {
  const config = await resolveConfig(join(root, 'package.json'));
  return new Map([
    [
      'schema/contracts.schema.json',
      await format(JSON.stringify(createDocumentSchema()), { ...config, parser: 'json' }),
    ],
  ]);
}
