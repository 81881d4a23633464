import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function Overview(): ReactNode {
  return <PageHead title="Overview" />;
}
