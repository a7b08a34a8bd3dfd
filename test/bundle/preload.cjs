// Loads the bundle of a program in place of its source. The map and the folder are filled in by build.ts.
const { existsSync, writeFileSync } = require('node:fs')
const { enableCompileCache, flushCompileCache, registerHooks } = require('node:module')
const { fileURLToPath, pathToFileURL } = require('node:url')

const bundles = {}
const compileCache = ''

const bundle = bundles[process.argv[1]]
if (bundle !== undefined) {
  if (process.env.NODE_COMPILE_CACHE === undefined) enableCompileCache(compileCache)
  const url = pathToFileURL(bundle).href
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const path = specifier.startsWith('file:') ? fileURLToPath(specifier) : specifier
      if (path !== process.argv[1]) return next(specifier, context)
      hooks.deregister()
      return { url, format: 'module', shortCircuit: true }
    },
  })
  keepCompiled(`${bundle}.compiled`)
}

// Most programs are killed by their tests, and a process that is killed keeps nothing of what it compiled. Of each
// program, the first process that lives long enough therefore keeps it soon after its start.
function keepCompiled(mark) {
  if (existsSync(mark)) return
  const keep = () => {
    flushCompileCache()
    writeFileSync(mark, '')
  }
  setTimeout(keep, 500).unref()
}
