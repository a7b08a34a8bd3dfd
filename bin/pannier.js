#!/usr/bin/env node
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`Pannier needs Node 22.18 or newer; this is ${process.versions.node}.`)
  process.exit(1)
}
await import('../dist/cli/main.js')
