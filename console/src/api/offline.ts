import type { Context } from 'react';
import { createContext } from 'react';

/** Whether the frame says already that the server does not answer: no part of a page need say it again. */
export const OfflineContext: Context<boolean> = createContext(false);
