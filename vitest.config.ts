import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import './scripts/compileCache.ts'
import { isLong } from './test/amount.ts'

/** Tests in which instances are killed and frozen. */
const survival = 'test/**/survival/**/*.test.ts'

/** Tests that only `npm run test:long` runs. */
const left = isLong ? [] : ['**/*.long.test.ts']

// `pannier/server` and its siblings resolve to src here, as they do under `node --conditions=pannier-source`.
const conditions = ['pannier-source', 'module', 'node', 'development|production']

/** Files that take longest, whatever their size. */
const LONG = [
  'test/simulation/simulation',
  'test/gateway/waitingReload',
  'test/gateway/workersEnd',
  'test/e2e/demo',
  'test/blocking/requests',
  'test/gateway/definitions',
  'test/gateway/serverLimits',
  'test/gateway/streamsOfOthers',
  'test/gateway/leases',
  'test/gateway/databaseAway',
]

/** The longest files begin first, so that nothing is left to wait for at the end. Smaller numbers are earlier. */
function rankOf({ moduleId }: TestSpecification): number {
  if (LONG.some((file) => moduleId.endsWith(`${file}.test.ts`))) return 0
  if (/\/engine\.\w+\.test\.ts$|\/test\/cli\//.test(moduleId)) return 1
  return moduleId.includes('/test/matrix/') ? 2 : 3
}

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    execArgv: ['--conditions=pannier-source'],
    allowOnly: false,
    // Where changes land, a test that fails gets one more try, because a few still depend on how busy the machine is.
    retry: process.env['CI'] === undefined ? 0 : 1,
    sequence: { sequencer: LongestFirst },
    globalSetup: ['test/bundle/build.ts', 'test/postgres/setup.ts'],
    setupFiles: ['test/unhandledRejections.ts', 'test/environment.ts', 'test/patience.ts'],
    expect: { poll: { timeout: 20_000 } }, // as in test/patience.ts
    projects: [
      // Tests leave nothing behind, so that a worker runs one file after the other without loading src again.
      // Unit tests mostly compute. A hook may be what starts PostgreSQL.
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts'],
          exclude: left,
          testTimeout: 30_000,
          hookTimeout: 60_000,
          isolate: false,
          maxWorkers: '100%',
          sequence: { groupOrder: 0 },
        },
      },
      // These mostly wait for processes, so that more run at a time than there are cores.
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/**/*.test.ts'],
          exclude: [survival, ...left],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          isolate: false,
          maxWorkers: 5,
          sequence: { groupOrder: 1 },
        },
      },
      // Each starts many processes whose leases end when they get no time, so that they run one after the other.
      {
        extends: true,
        test: {
          name: 'survival',
          include: [survival],
          exclude: left,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          isolate: false,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
