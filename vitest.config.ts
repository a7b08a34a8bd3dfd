import { defineConfig } from 'vitest/config'

// `pannier/server` and its siblings resolve to src here, as they do under `node --conditions=pannier-source`.
const conditions = ['pannier-source', 'module', 'node', 'development|production']

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    execArgv: ['--conditions=pannier-source'],
    allowOnly: false,
    projects: [
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'], testTimeout: 10_000 } },
      {
        extends: true,
        test: { name: 'e2e', include: ['test/**/*.test.ts'], testTimeout: 30_000, hookTimeout: 30_000 },
      },
    ],
  },
})
