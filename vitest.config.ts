import { defineConfig } from 'vitest/config'
import './scripts/compileCache.ts'

// `pannier/server` and its siblings resolve to src here, as they do under `node --conditions=pannier-source`.
const conditions = ['pannier-source', 'module', 'node', 'development|production']

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    execArgv: ['--conditions=pannier-source'],
    allowOnly: false,
    globalSetup: ['test/bundle/build.ts', 'test/postgres/setup.ts'],
    setupFiles: ['test/unheard.ts', 'test/environment.ts'],
    // Tests wait much of the time, so that no core need be left free for Vitest itself.
    maxWorkers: '100%',
    projects: [
      // Unit tests leave nothing behind, so that a worker runs one file after the other without loading src again.
      // A hook may be what starts PostgreSQL.
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts'],
          testTimeout: 10_000,
          hookTimeout: 60_000,
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          isolate: false,
          maxWorkers: 5,
        },
      },
    ],
  },
})
