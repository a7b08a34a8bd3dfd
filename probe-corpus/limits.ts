/** How many requests the probe sends and how long it takes, with a server that answers at once. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { probe } from 'pannier/probe'
import { medianOf } from './confusionMatrix.ts'
import { withServer } from './serverProcess.ts'

export interface Limits {
  /** The most requests that a server got. */
  readonly requests: number
  readonly medianMs: number
  /** `pannier probe` for a file with the slowest server alone. */
  readonly slowestMs: number
  /** `pannier probe` for a file with all ten servers. */
  readonly tenMs: number
}

const MAX_REQUESTS = 8
const MAX_MS = 300
const MAX_MORE_MS = 1_000
const ATTEMPTS = 15

const instant = join(import.meta.dirname, 'programs/instant.ts')
const program = join(import.meta.dirname, '../src/cli/main.ts')

/** `counted`: how many requests the servers of the corpus got. */
export function measureLimits(counted: readonly number[]): Promise<Limits> {
  return withServer({ args: [instant, '{port}'], path: '/mcp' }, async (server) => {
    if (!('url' in server)) throw new Error('It serves HTTP.')
    const { url } = server
    const verdicts = []
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) verdicts.push(await probe(url))
    const slow = new URL('/slow', url).href
    const slowestMs = await timeOf([slow])
    const tenMs = await timeOf([slow, ...Array.from({ length: 9 }, () => url)])
    return {
      requests: Math.max(...counted, ...verdicts.map(({ requests }) => requests)),
      medianMs: Math.round(medianOf(verdicts.map(({ durationMs }) => durationMs))),
      slowestMs,
      tenMs,
    }
  })
}

/** How long `pannier probe` takes for an mcp.json file with these servers. */
async function timeOf(urls: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-corpus-'))
  const file = join(folder, 'mcp.json')
  const servers = Object.fromEntries(urls.map((url, index) => [`server ${index + 1}`, { type: 'http', url }]))
  writeFileSync(file, JSON.stringify({ servers }))
  try {
    const started = performance.now()
    const child = spawn(process.execPath, ['--conditions=pannier-source', program, 'probe', file], { stdio: 'ignore' })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`pannier probe ended with ${code}.`)
    return Math.round(performance.now() - started)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export function limitRows({ requests, medianMs, slowestMs, tenMs }: Limits): readonly (readonly string[])[] {
  return [
    ['', 'measured', 'limit'],
    ['most requests to a server over HTTP', String(requests), String(MAX_REQUESTS)],
    [`a server that answers at once, median of ${ATTEMPTS}`, `${medianMs} ms`, `${MAX_MS} ms`],
    ['an mcp.json file with one slow server', `${slowestMs} ms`, ''],
    ['the same with nine more', `${tenMs} ms`, `${slowestMs + MAX_MORE_MS} ms`],
  ]
}

/** The limits that do not hold, as sentences. */
export function limitFaults({ requests, medianMs, slowestMs, tenMs }: Limits): string[] {
  return [
    ...(requests > MAX_REQUESTS ? [`A server got ${requests} requests.`] : []),
    ...(medianMs >= MAX_MS ? [`A server that answers at once took ${medianMs} ms.`] : []),
    ...(tenMs > slowestMs + MAX_MORE_MS ? [`Ten servers took ${tenMs} ms, the slowest of them ${slowestMs} ms.`] : []),
  ]
}
