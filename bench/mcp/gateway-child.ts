/** The gateway over stdio: `node gateway-child.ts CONFIG LEDGER`. The command line refuses a ledger in memory. */
import { createMcpGateway, readMcpConfig } from '@quittance/mcp';
import { openLedger } from 'quittance/ledger';

const [path = '', url = ''] = process.argv.slice(2);
const ledger = await openLedger(url);
const config = await readMcpConfig(path, { env: process.env });
const gateway = createMcpGateway({ config, ledger, version: '0' });
const { stdin, stdout } = process;
const caller = { id: 'bench', principal: { userId: 'bench' }, askedBy: undefined, readsOnly: false };
await gateway.serveStdio({ caller, stdin, stdout });
await gateway.close();
await ledger.close();
