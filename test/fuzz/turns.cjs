// Loaded into a gateway: writes down how long its event loop stood still at most. Time in which the process had no
// processor does not count, because others use the machine as well.
const { writeFileSync, renameSync } = require('node:fs')

const folder = process.env.FUZZ_TURNS
if (folder !== undefined) {
  const TURN_MS = 10
  let last = performance.now()
  let used = process.cpuUsage()
  let worstMs = 0
  let rss = 0
  setInterval(() => {
    const now = performance.now()
    const { user, system } = process.cpuUsage(used)
    worstMs = Math.max(worstMs, Math.min(now - last - TURN_MS, (user + system) / 1000))
    last = now
    used = process.cpuUsage()
  }, TURN_MS).unref()
  setInterval(() => {
    rss = Math.max(rss, process.memoryUsage().rss)
    const path = `${folder}/${process.pid}`
    writeFileSync(`${path}.new`, JSON.stringify({ worstMs, rss }))
    renameSync(`${path}.new`, path)
  }, 200).unref()
}
