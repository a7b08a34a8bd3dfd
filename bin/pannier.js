#!/usr/bin/env node
import { existsSync } from 'node:fs'
import module from 'node:module'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`Pannier needs Node 22.18 or newer; this is ${process.versions.node}.`)
  process.exit(1)
}
if (!existsSync(new URL('../dist/cli/main.js', import.meta.url))) {
  console.error('Pannier is not built here yet. Run this first: npm run build')
  process.exit(1)
}
module.enableCompileCache?.()
await import('../dist/cli/main.js')
