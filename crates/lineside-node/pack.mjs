// Packs what is published: the package, and one with the command for a platform.
//
//     node pack.mjs OUT                          the package, of what is built in `dist`
//     node pack.mjs OUT linux-x64 FOLDER         that of a platform, with the programs of FOLDER: `lineside` and, where there
//                                                is one, `lineside-full`, as `cargo xtask install --root` lays them out in `bin`,
//                                                and the licences that lie beside
//
// The package names those of all platforms as optional dependencies, so that npm installs the one that fits; nothing is
// downloaded beside.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const own = import.meta.dirname;
const kit = path.join(own, '../lineside-exec/src/worker/kits/lineside-hook.mjs');
const manifest = JSON.parse(fs.readFileSync(path.join(own, 'package.json'), 'utf8'));
const [out, platform, programs] = process.argv.slice(2);
if (!out) throw new Error('name the folder that the package is put into');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lineside-pack-'));
try {
  if (platform) packPlatform(platform, programs);
  else packMain();
  fs.mkdirSync(out, { recursive: true });
  const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', path.resolve(out)], { cwd: folder });
  console.log(path.join(out, JSON.parse(String(packed))[0].filename));
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}

function packMain() {
  fs.cpSync(path.join(own, 'dist'), path.join(folder, 'dist'), { recursive: true });
  if (fs.existsSync(kit)) fs.copyFileSync(kit, path.join(folder, 'dist/worker.mjs'));
  fs.copyFileSync(path.join(own, 'src/worker.d.mts'), path.join(folder, 'dist/worker.d.mts'));
  fs.copyFileSync(path.join(own, 'README.md'), path.join(folder, 'README.md'));
  write(manifest);
}

function packPlatform(platform, programs) {
  const name = `@lineside/${platform}`;
  if (!(name in manifest.optionalDependencies)) throw new Error(`${platform} is none of ${Object.keys(manifest.optionalDependencies).join(', ')}`);
  const [system, processor] = platform.split('-');
  const there = ['lineside', 'lineside-full'].filter((program) => fs.existsSync(path.join(programs ?? '', program)));
  if (!there.includes('lineside')) throw new Error(`there is no \`lineside\` in ${programs}`);
  fs.mkdirSync(path.join(folder, 'bin'));
  for (const program of there) {
    fs.copyFileSync(path.join(programs, program), path.join(folder, 'bin', program));
    fs.chmodSync(path.join(folder, 'bin', program), 0o755);
  }
  const licences = path.join(programs, '../share/doc/lineside');
  if (fs.existsSync(licences)) fs.cpSync(licences, path.join(folder, 'licences'), { recursive: true });
  const { version, license } = manifest;
  write({ name, version, description: `The lineside command for ${platform}.`, license, os: [system], cpu: [processor], files: ['bin', 'licences'] });
}

function write(manifest) {
  fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
