/**
 * Loaded before anything else by the processes of a test run that have a server, and by their threads: lets the threads
 * of the server keep their priority. The server lowers it so that its own event loop goes first. Here the other tests keep all cores
 * busy, and such a thread would wait for them, often longer than any timeout.
 */
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

os.setPriority = () => undefined;
syncBuiltinESMExports();
