/** Minimal servers for Workers in one module each, minified: ours and that of the official SDK, by the same bundler. */
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type Plugin, rolldown } from 'rolldown'
import { minifySync } from 'rolldown/utils'
import { root } from '../repository.ts'

export interface Bundle {
  /** Of the minified module, in bytes. */
  readonly gzip: number
  readonly minified: number
  /** Bytes of each package, and of each folder of src, minified alone. Together they are more than the whole. */
  readonly parts: Readonly<Record<string, number>>
  /** Modules of Node that it imports. */
  readonly imports: readonly string[]
}

const ours = (entry: string): string => `
import { createServer } from '${entry}'
const server = createServer({ name: 'hello', version: '1.0.0' })`

const WITH_ZOD = `
const input = z.object({ name: z.string() })
server.tool('hello', { description: 'Greets.', input }, ({ name }) => 'Hello, ' + name)
export default { fetch: server.fetch }`

const WITH_JSON_SCHEMA = `
const input = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
server.tool('hello', { description: 'Greets.', input }, ({ name }) => 'Hello, ' + name)
export default { fetch: server.fetch }`

export const PROGRAMS = {
  'Pannier, zod': `import * as z from 'zod'${ours('pannier/server')}${WITH_ZOD}`,
  'Pannier, JSON Schema': `${ours('pannier/server')}${WITH_JSON_SCHEMA}`,
  'Pannier without sessions, zod': `import * as z from 'zod'${ours('pannier/modern')}${WITH_ZOD}`,
  'Pannier without sessions, JSON Schema': `${ours('pannier/modern')}${WITH_JSON_SCHEMA}`,

  'SDK v2, zod': `import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'hello', version: '1.0.0' })
  const inputSchema = z.object({ name: z.string() })
  server.registerTool('hello', { description: 'Greets.', inputSchema }, async ({ name }) => {
    return { content: [{ type: 'text', text: 'Hello, ' + name }] }
  })
  return server
})
export default { fetch: handler.fetch }`,
} as const

export type ProgramName = keyof typeof PROGRAMS

const ENTRY = join(root, 'entry.mjs')

export async function bundle(program: ProgramName): Promise<Bundle> {
  const build = await rolldown({
    input: ENTRY,
    plugins: [entryOf(PROGRAMS[program])],
    platform: 'neutral',
    external: /^node:/,
    checks: { bundlerTimings: false }, // a slow machine is no fault
    resolve: {
      conditionNames: ['pannier-source', 'workerd', 'worker', 'browser', 'import', 'default'],
      mainFields: ['browser', 'module', 'main'],
    },
    onLog: (level, { message }) => {
      if (level === 'warn') throw new Error(message) // a module that was not found is only a warning
    },
  })
  const { output } = await build.generate({ format: 'esm', codeSplitting: false, minify: true, comments: false })
  await build.close()
  const [{ code, modules, imports }] = output
  const texts = Map.groupBy(Object.entries(modules), ([path]) => partOf(path))
  const parts = Array.from(texts, ([part, files]) => [part, minifiedLength(files.map(([, file]) => file.code ?? ''))])
  return {
    gzip: gzipSync(code, { level: 9 }).length,
    minified: code.length,
    parts: Object.fromEntries(parts.filter(([, bytes]) => bytes !== 0)) as Record<string, number>,
    imports: imports.toSorted(),
  }
}

function entryOf(code: string): Plugin {
  return {
    name: 'entry',
    resolveId: (id) => (id === ENTRY ? id : undefined),
    load: (id) => (id === ENTRY ? code : undefined),
  }
}

/** `node_modules/zod/v4/core/api.js` is of the part zod, and `src/server/http/body.ts` of src/server/http. */
function partOf(path: string): string {
  const packageName = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]
  if (packageName !== undefined) return packageName
  return /^src\/[^/]+(?:\/[^/.]+(?=\/))?/.exec(path.slice(root.length + 1))?.[0] ?? 'the program'
}

function minifiedLength(texts: readonly string[]): number {
  return minifySync('part.js', texts.join('\n'), { mangle: { toplevel: true } }).code.length
}
