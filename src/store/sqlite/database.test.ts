import { expect, it } from 'vitest';
import { refuseOldNode } from './database.ts';

it('refuses versions of Node in which the driver crashes, and names the version to install', () => {
  for (const version of ['22.0.0', '24.3.1', '100.0.0']) expect(() => refuseOldNode(version)).not.toThrow();
  for (const version of ['20.20.2', '8.0.0']) {
    const refuse = (): void => refuseOldNode(version);
    expect(refuse).toThrow(expect.objectContaining({ code: 'config.invalid' }));
    expect(refuse).toThrow(`this is Node ${version}`);
  }
});
