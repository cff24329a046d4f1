// query - answers SQL about a trace with Perfetto's trace_processor, in WebAssembly
//
// usage: node query.mjs DIR TRACE SQL
//
// DIR has trace_processor.wasm and its JavaScript. Prints a line for each row, with tabs.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';

const [dir, trace, sql] = process.argv.slice(2);
const say = console.log;
console.log = console.warn = (...text) => console.error(...text);
const { EngineBase } = await import(pathToFileURL(`${dir}/engine.mjs`));

// The script expects to be a worker of a browser, and falls back to the 32-bit wasm.
const { port1, port2 } = new MessageChannel();
const worker = { location: { href: 'http://localhost/' } };
class XMLHttpRequest {
	open() { this.response = readFileSync(`${dir}/trace_processor.wasm`); }
	send() { }
}
const script = readFileSync(`${dir}/engine_bundle.node.js`, 'utf8').replace('= hasMemory64Support()', '= false');
Function('self', 'WorkerGlobalScope', 'XMLHttpRequest', script)(worker, {}, XMLHttpRequest);

class Engine extends EngineBase {
	rpcSendRequestBytes(data) { port2.postMessage(data); }
}
const engine = new Engine();
port2.onmessage = (message) => engine.onRpcResponseBytes(new Uint8Array(message.data));
worker.onmessage({ data: port1 });

const bytes = new Uint8Array(readFileSync(trace));
for (let i = 0; i < bytes.length; i += 1 << 24)
	await engine.parse(bytes.subarray(i, i + (1 << 24)));
await engine.notifyEof();
const result = await engine.query(sql);
for (const row = result.iter({}); row.valid(); row.next())
	say(result.columns().map((name) => row.get(name)).join('\t'));
port2.close();
