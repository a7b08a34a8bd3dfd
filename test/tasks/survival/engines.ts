/** The engines these tests are run over, and what a test has to know of each. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe } from 'vitest'
import { newDatabase } from '../../postgres/database.ts'
import { PostgresServer } from '../../postgres/server.ts'
import type { Place } from './places.ts'
import type { Scene } from './scene.ts'

export interface EngineCase {
  readonly name: string
  /** Whether time is the store's, and not that of each process. */
  readonly hasClock: boolean
  newPlace(scene: Scene): Promise<Place>
  newFragilePlace(scene: Scene): Promise<FragilePlace>
}

/** One that can be taken away from everybody. */
export interface FragilePlace {
  readonly place: Place
  takeAway(): Promise<void>
  giveBack(): Promise<void>
}

const sqlite: EngineCase = {
  name: 'in SQLite',
  hasClock: false,
  newPlace: async (scene) => sqlitePlace(scene),
  async newFragilePlace(scene) {
    const place = sqlitePlace(scene)
    let holder: DatabaseSync | undefined
    scene.later(() => holder?.close())
    return {
      place,
      async takeAway() {
        holder = new DatabaseSync(place.path, { timeout: 30_000 })
        holder.exec('BEGIN EXCLUSIVE')
      },
      giveBack: async () => holder?.exec('ROLLBACK'),
    }
  },
}

const postgres: EngineCase = {
  name: 'in PostgreSQL',
  hasClock: true,
  newPlace: async () => ({ kind: 'postgres', url: await newDatabase() }),
  async newFragilePlace(scene) {
    const server = await PostgresServer.start()
    scene.later(() => server.end())
    return {
      place: { kind: 'postgres', url: server.url() },
      takeAway: () => server.stop(),
      giveBack: () => server.restart(),
    }
  },
}

function sqlitePlace({ folder }: Scene): Place & { kind: 'sqlite' } {
  return { kind: 'sqlite', path: join(folder, 'tasks.db') }
}

/** How long one of these tests may take on a machine that is busy otherwise, in milliseconds. */
export const LIMIT_MS = 300_000

/** Declares tests for each engine. They run at the same time: their processes mostly wait. */
export function forEachEngine(declare: (engine: EngineCase) => void): void {
  for (const engine of [sqlite, postgres]) {
    describe.concurrent(`tasks ${engine.name}`, () => {
      declare(engine)
    })
  }
}
