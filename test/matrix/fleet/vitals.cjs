// Loaded into each gateway: at SIGUSR2 it writes down what the process holds, after its memory was cleared of what nobody
// uses any more.
const { writeFileSync, renameSync } = require('node:fs')
const { setFlagsFromString } = require('node:v8')
const { runInNewContext } = require('node:vm')

const folder = process.env.MATRIX_VITALS
if (folder !== undefined) {
  process.on('SIGUSR2', () => {
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
    const { heapUsed, rss } = process.memoryUsage()
    const resources = {}
    for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
    const path = `${folder}/${process.pid}`
    writeFileSync(`${path}.new`, JSON.stringify({ heapUsed, rss, resources }))
    renameSync(`${path}.new`, path)
  })
}
