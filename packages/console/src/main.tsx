import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { watchUse } from './api/in-use.ts';
import { App } from './app.tsx';
import { runEffectsAtOnce } from './run-effects-at-once.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/layout.css';
import './styles/parts.css';

runEffectsAtOnce();
watchUse();
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root.');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
