import type { Context } from 'react';
import { createContext } from 'react';

/** True while the frame already shows that the server does not respond, so that pages need not repeat it. */
export const OfflineContext: Context<boolean> = createContext(false);
