/** A small project with a mistake, and a scripted model that corrects it: no key, no network. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AIMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';

export const sampleJob = 'The function sum is wrong. Correct it.';

export function writeSample(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  writeFileSync(join(folder, 'sum.js'), 'export const sum = (a, b) => a - b;\n');
}

/** It also tries to leave its folder. The rules block that. */
export function sampleModel() {
  const call = (id: string, name: string, args: Record<string, string>) => [{ id, name, args }];
  return fakeModel()
    .respondWithTools(call('read', 'read_file', { path: 'sum.js' }))
    .respondWithTools(
      call('write', 'write_file', { path: 'sum.js', text: 'export const sum = (a, b) => a + b;\n' }),
    )
    .respondWithTools(call('list', 'run_command', { command: 'ls' }))
    .respondWithTools(call('leave', 'read_file', { path: '../../etc/passwd' }))
    .respond(new AIMessage('sum adds its arguments now.'));
}
