/**
 * Loaded before anything else by every worker of a test run, and by the threads it starts: lets threads of the server
 * keep their priority. The server lowers it so that its own event loop goes first. Here the other tests keep all cores
 * busy, and such a thread would wait for them, often longer than any timeout.
 */
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

os.setPriority = () => undefined;
syncBuiltinESMExports();
