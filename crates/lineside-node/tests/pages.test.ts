// The programs on the pages of the book that need nothing but the package.

import { test } from 'node:test';
import { PAGES, runPages } from './pages.ts';

test('the programs of the pages print what stands beside them', (t) => runPages(t, PAGES));
