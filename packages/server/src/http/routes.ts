/** Every route, in the order of the documentation. */
import type { Route } from './route.ts';
import { callRoutes } from './routes/call-routes.ts';
import { confirmationRoutes } from './routes/confirmation-routes.ts';
import { contractRoutes } from './routes/contract-routes.ts';
import { feedRoutes } from './routes/feed-routes.ts';
import { delegationRoutes } from './routes/delegation-routes.ts';
import { grantRoutes } from './routes/grant-routes.ts';
import { handoffRoutes } from './routes/handoff-routes.ts';
import { healthRoutes } from './routes/health-routes.ts';
import { jobRoutes } from './routes/job-routes.ts';
import { mcpRoutes } from './routes/mcp-routes.ts';
import { reconcileRoutes } from './routes/reconcile-routes.ts';
import { removalRoutes } from './routes/removal-routes.ts';
import { sessionRoutes } from './routes/session-routes.ts';
import { signInRoutes } from './routes/sign-in-routes.ts';
import { statsRoutes } from './routes/stats-routes.ts';

export const routes: readonly Route[] = [
  ...callRoutes,
  ...reconcileRoutes,
  ...sessionRoutes,
  ...removalRoutes,
  ...feedRoutes,
  ...confirmationRoutes,
  ...grantRoutes,
  ...delegationRoutes,
  ...handoffRoutes,
  ...contractRoutes,
  ...statsRoutes,
  ...mcpRoutes,
  ...jobRoutes,
  ...signInRoutes,
  ...healthRoutes,
];
