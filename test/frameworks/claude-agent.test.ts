import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach } from 'vitest';
import { endOrphans } from './harnesses/claude-agent-query.ts';
import claudeAgent from './harnesses/claude-agent.ts';
import { behaviorSuite } from './suite/behavior-suite.ts';

// Stopped sessions outlive their process. Here they are found and removed.
const folder = mkdtempSync(join(tmpdir(), 'claude-agent-'));
process.env['TMPDIR'] = folder;
afterEach(endOrphans);
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

behaviorSuite(claudeAgent);
