/** The fields of a V8 CPU profile that are read here. */
export interface CpuProfile {
  nodes: ProfileNode[]
  samples: number[]
  timeDeltas: number[]
}

interface ProfileNode {
  id: number
  callFrame: { functionName: string; url: string; lineNumber: number }
  children?: number[]
}

export interface HotSpot {
  name: string
  place: string
  /** Share of the busy time spent in the function itself. */
  self: number
  /** The same, with the functions that it calls. */
  total: number
}

/** The functions under `root/src` with the most self time. */
export function hottest(profile: CpuProfile, root: string, count: number): HotSpot[] {
  const self = selfTimes(profile)
  const busy = busyTime(profile, self)
  const spots = new Map<string, HotSpot>()
  visit(profile, (node, path) => {
    const key = ownPlace(node, root)
    const time = (self.get(node.id) ?? 0) / busy
    if (key !== undefined) spotFor(spots, node, key).self += time
    const above = new Set(path.map((one) => ownPlace(one, root)))
    for (const place of above) {
      const caller = path.find((one) => ownPlace(one, root) === place)
      if (place !== undefined && caller !== undefined) spotFor(spots, caller, place).total += time
    }
  })
  return [...spots.values()].sort((a, b) => b.self - a.self).slice(0, count)
}

/** The busy time by package. */
export function shares(profile: CpuProfile, root: string): { label: string; share: number }[] {
  const self = selfTimes(profile)
  const busy = busyTime(profile, self)
  const sums = new Map<string, number>()
  for (const node of profile.nodes) {
    const label = ownerOf(node, root)
    if (label !== IDLE) sums.set(label, (sums.get(label) ?? 0) + (self.get(node.id) ?? 0) / busy)
  }
  return [...sums].map(([label, share]) => ({ label, share })).sort((a, b) => b.share - a.share)
}

const IDLE = '(idle)'

function ownerOf({ callFrame: { functionName, url } }: ProfileNode, root: string): string {
  if (functionName === IDLE) return IDLE
  if (functionName === '(garbage collector)') return 'garbage collection'
  if (url.startsWith('node:')) return 'node itself, in JavaScript'
  if (url.includes('/node_modules/')) return packageOf(url)
  if (url.includes(`${root}src/`)) return 'pannier/src'
  if (url.includes(`${root}bench/`)) return 'the bench'
  return url === '' ? 'native code, and code made at run time' : 'other'
}

function packageOf(url: string): string {
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? 'packages'
}

function ownPlace({ callFrame: { url, lineNumber } }: ProfileNode, root: string): string | undefined {
  const at = url.indexOf(`${root}src/`)
  return at === -1 ? undefined : `${url.slice(at + root.length)}:${lineNumber + 1}`
}

function spotFor(spots: Map<string, HotSpot>, { callFrame }: ProfileNode, place: string): HotSpot {
  const spot = spots.get(place) ?? { name: callFrame.functionName || '(anonymous)', place, self: 0, total: 0 }
  spots.set(place, spot)
  return spot
}

function selfTimes({ samples, timeDeltas }: CpuProfile): Map<number, number> {
  const times = new Map<number, number>()
  samples.forEach((id, index) => {
    times.set(id, (times.get(id) ?? 0) + (timeDeltas[index] ?? 0))
  })
  return times
}

function busyTime(profile: CpuProfile, self: Map<number, number>): number {
  const busy = profile.nodes.filter(({ callFrame }) => callFrame.functionName !== IDLE)
  return busy.reduce((sum, { id }) => sum + (self.get(id) ?? 0), 0)
}

/** Every node of the call tree with the path that leads to it, itself included. */
function visit(profile: CpuProfile, see: (node: ProfileNode, path: ProfileNode[]) => void): void {
  const byId = new Map(profile.nodes.map((node) => [node.id, node]))
  const walk = (node: ProfileNode, above: ProfileNode[]): void => {
    const path = [...above, node]
    see(node, path)
    for (const id of node.children ?? []) {
      const child = byId.get(id)
      if (child !== undefined) walk(child, path)
    }
  }
  const [top] = profile.nodes
  if (top !== undefined) walk(top, [])
}
